#include "storage/file_system.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/testing/temporary_folder.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

class LocalFiles : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  const std::string path_ = folder_.path("");
  const FileSystem& files_ = FileSystem::of(path_);
};

TEST_F(LocalFiles, OpensReadsAndIdentifies) {
  const std::string path = folder_.write_text("x.bin", "hello");
  const auto file = files_.open(path);
  ASSERT_TRUE(file.ok());
  std::string text(5, ' ');
  ASSERT_TRUE((*file)->read_at(0, std::as_writable_bytes(std::span(text))).ok());
  EXPECT_EQ(text, "hello");
  const auto status = files_.status(path);
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(status->kind, PathKind::kFile);
  EXPECT_EQ(status->fingerprint, (*file)->fingerprint());
  EXPECT_EQ(status->fingerprint.size_bytes, 5u);
  folder_.write_text("x.bin", "hello again");
  EXPECT_NE(files_.status(path)->fingerprint, (*file)->fingerprint());
  EXPECT_EQ(files_.open(folder_.path("absent")).error().code(), ErrorCode::kNotFound);
}

TEST_F(LocalFiles, AKnownFileIsOpenedByItsFirstReadIfItIsStillTheSame) {
  const std::string path = folder_.write_text("x.bin", "hello");
  const FileFingerprint then = files_.status(path)->fingerprint;
  const auto same = files_.known(path, then), other = files_.known(path, then);
  EXPECT_EQ(same->size(), 5u);
  EXPECT_EQ(same->fingerprint(), then);
  EXPECT_TRUE(same->check_unchanged().ok());
  std::string text(5, ' ');
  const auto room = std::as_writable_bytes(std::span(text));
  ASSERT_TRUE(same->read_at(0, room).ok());
  EXPECT_EQ(text, "hello");
  folder_.write_text("new", "HELLO");
  fs::rename(folder_.path("new"), path);
  const Status changed = other->read_at(0, room);
  ASSERT_FALSE(changed.ok());
  EXPECT_EQ(changed.error().code(), ErrorCode::kFileChanged);
  EXPECT_FALSE(other->check_unchanged().ok());
  fs::remove(path);
  EXPECT_EQ(files_.known(path, then)->read_at(0, room).error().code(), ErrorCode::kFileChanged);
}

TEST_F(LocalFiles, SaysWhatANameStandsFor) {
  folder_.write_text("d/x", "1");
  fs::create_symlink(folder_.path("d/x"), folder_.path("good"));
  fs::create_symlink(folder_.path("nowhere"), folder_.path("broken"));
  fs::create_symlink(folder_.path("loop"), folder_.path("loop"));
  const auto kind = [&](const char* name) { return files_.status(folder_.path(name))->kind; };
  EXPECT_EQ(kind("d"), PathKind::kDirectory);
  EXPECT_EQ(kind("d/x"), PathKind::kFile);
  EXPECT_EQ(kind("good"), PathKind::kFile);
  EXPECT_EQ(kind("broken"), PathKind::kOther);
  EXPECT_EQ(kind("loop"), PathKind::kOther);
  EXPECT_EQ(kind("absent"), PathKind::kNothing);
  EXPECT_EQ(kind("d/x/y"), PathKind::kNothing);
  EXPECT_EQ(files_.status("")->kind, PathKind::kDirectory);
}

TEST_F(LocalFiles, ListsNames) {
  for (const char* name : {"b", ".hidden", "sub/c"}) folder_.write_text(name, "");
  auto names = *files_.list(folder_.path(""));
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{".hidden", "b", "sub"}));
  EXPECT_TRUE(files_.list(folder_.path("absent"))->empty());
  EXPECT_TRUE(files_.list(folder_.path("b"))->empty());
  if (::geteuid() == 0) GTEST_SKIP() << "root may read every directory";
  fs::permissions(folder_.path("sub"), fs::perms::none);
  EXPECT_EQ(files_.list(folder_.path("sub")).error().code(), ErrorCode::kPermission);
  EXPECT_EQ(files_.status(folder_.path("sub/c")).error().code(), ErrorCode::kPermission);
  fs::permissions(folder_.path("sub"), fs::perms::owner_all);
}

TEST_F(LocalFiles, SpellsNamesInOneWay) {
  folder_.write_text("d/x", "");
  fs::create_symlink(folder_.path("d"), folder_.path("link"));
  EXPECT_EQ(files_.absolute(folder_.path("link/../link/./x")), folder_.path("link/x"));
  EXPECT_EQ(files_.canonical(folder_.path("link/x")), fs::canonical(folder_.path("d/x")));
  EXPECT_EQ(files_.absolute("x"), (fs::current_path() / "x").string());
}

}  // namespace
}  // namespace headrace
