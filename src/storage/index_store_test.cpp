#include "storage/index_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/testing/temporary_folder.h"
#include "storage/file_system.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Index : public ::testing::Test {
 protected:
  IndexEntry entry_of(const std::string& name, std::string facts) const {
    const std::string path = folder_.path(name);
    return {path, FileSystem::of(path).status(path)->fingerprint, std::move(facts)};
  }
  static std::vector<std::string> paths_of(const std::vector<IndexEntry>& entries) {
    std::vector<std::string> paths;
    for (const IndexEntry& e : entries) paths.push_back(e.path);
    return paths;
  }
  /// The only index in the store.
  std::string only_file() const {
    std::vector<std::string> found;
    for (const auto& e : fs::directory_iterator(store_.directory())) found.push_back(e.path());
    EXPECT_EQ(found.size(), 1u);
    return found.at(0);
  }

  TemporaryFolder folder_;
  IndexStore store_{folder_.path("cache/index")};
  std::vector<IndexEntry> entries_ = [this] {
    folder_.write_text("a.h5", "aaaa");
    folder_.write_text("b.h5", "bb");
    return std::vector{entry_of("a.h5", std::string("facts\0of a", 10)), entry_of("b.h5", "")};
  }();
};

TEST_F(Index, KeepsWhatIsKnownOfTheFilesOfADataSet) {
  EXPECT_TRUE(store_.load(paths_of(entries_)).empty());
  ASSERT_TRUE(store_.save(entries_).ok());
  const auto loaded = store_.load(paths_of(entries_));
  ASSERT_EQ(loaded.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(loaded[i].path, entries_[i].path);
    EXPECT_EQ(loaded[i].fingerprint, entries_[i].fingerprint);
    EXPECT_EQ(loaded[i].facts, entries_[i].facts);
  }
  const std::string a = entries_[0].path, b = entries_[1].path;
  EXPECT_TRUE(store_.load(std::vector{b, a}).empty());  // another order is another data set
  EXPECT_TRUE(store_.load(std::vector{a}).empty());
  struct stat facts {};
  ASSERT_EQ(::stat(only_file().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
}

TEST_F(Index, ASecondSaveReplacesTheFirst) {
  ASSERT_TRUE(store_.save(entries_).ok());
  entries_[1].facts = "more";
  ASSERT_TRUE(store_.save(entries_).ok());
  EXPECT_EQ(store_.load(paths_of(entries_)).at(1).facts, "more");
  (void)only_file();
}

TEST_F(Index, EveryDamagedByteAndEveryTruncationIsNoticed) {
  ASSERT_TRUE(store_.save(entries_).ok());
  const std::string file = only_file(), good = read_text(file);
  const auto loads = [&](const std::string& bytes) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
    return !store_.load(paths_of(entries_)).empty();
  };
  ASSERT_TRUE(loads(good));
  for (std::size_t i = 0; i < good.size(); ++i)
    for (const int flip : {0x01, 0x80, 0xFF}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ flip);
      ASSERT_FALSE(loads(bad)) << "byte " << i;
    }
  for (std::size_t size = 0; size < good.size(); ++size) ASSERT_FALSE(loads(good.substr(0, size))) << size;
  EXPECT_FALSE(loads(good + '\0'));
  EXPECT_EQ(store_.list()->at(0).state, "damaged");
  ASSERT_TRUE(store_.save(entries_).ok());  // and it is mended by the next save
  EXPECT_FALSE(store_.load(paths_of(entries_)).empty());
}

TEST_F(Index, WhatOthersMayHaveWrittenIsNotTrusted) {
  ASSERT_TRUE(store_.save(entries_).ok());
  const std::string file = only_file();
  const auto loads = [&] { return !store_.load(paths_of(entries_)).empty(); };
  for (const mode_t mode : {0620, 0602, 0666}) {
    ASSERT_EQ(::chmod(file.c_str(), mode), 0);
    EXPECT_FALSE(loads()) << mode;
  }
  ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
  EXPECT_TRUE(loads());
  fs::rename(file, folder_.path("elsewhere"));
  fs::create_symlink(folder_.path("elsewhere"), file);
  EXPECT_FALSE(loads());
  fs::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  EXPECT_FALSE(loads());  // and does not wait for a writer
  fs::remove(file);
  fs::rename(folder_.path("elsewhere"), file);
  if (::geteuid() != 0) GTEST_SKIP() << "only root may give a file to another user";
  ASSERT_EQ(::chown(file.c_str(), 12345, 12345), 0);
  EXPECT_FALSE(loads());
}

TEST_F(Index, ListsWhatItHoldsAndWhetherItIsOfUse) {
  EXPECT_TRUE(store_.list()->empty());
  ASSERT_TRUE(store_.save(entries_).ok());
  auto listed = *store_.list();
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].state, "valid");
  EXPECT_EQ(listed[0].files, paths_of(entries_));
  EXPECT_EQ(listed[0].bytes, fs::file_size(only_file()));
  folder_.write_text("b.h5", "longer");
  EXPECT_EQ(store_.list()->at(0).state, "stale");

  const Status unknown = store_.remove("nothing");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code(), ErrorCode::kNotFound);
  EXPECT_NE(unknown.error().hint().find(listed[0].name), std::string::npos);
  folder_.write_text("cache/precious.index", "");
  EXPECT_FALSE(store_.remove("../precious").ok());
  EXPECT_TRUE(fs::exists(folder_.path("cache/precious.index")));
  ASSERT_TRUE(store_.remove(listed[0].name).ok());
  EXPECT_TRUE(store_.list()->empty());
}

TEST_F(Index, StaysWithinItsLimitAndForgetsWhatWasUsedLongestAgo) {
  const auto data_set = [&](int i) {
    IndexEntry e = entries_[0];
    e.path += std::to_string(i);
    e.facts.assign(1000, 'x');
    return std::vector{e};
  };
  const IndexStore store(folder_.path("small"), 5000);
  const std::string abandoned = folder_.write_text("small/.tmp-1-2", "half");
  fs::last_write_time(abandoned, fs::file_time_type::clock::now() - std::chrono::hours(2));
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(store.save(data_set(i)).ok());
    for (const auto& e : fs::directory_iterator(store.directory()))  // each older than the next
      fs::last_write_time(e, fs::last_write_time(e) - std::chrono::minutes(1));
  }
  EXPECT_FALSE(fs::exists(abandoned));
  std::uint64_t total = 0;
  const auto kept = *store.list();
  for (const auto& listed : kept) total += listed.bytes;
  EXPECT_LE(total, 5000u);
  EXPECT_GT(total, 3000u);
  EXPECT_TRUE(store.load(paths_of(data_set(0))).empty());
  EXPECT_FALSE(store.load(paths_of(data_set(9))).empty());
  IndexEntry huge = entries_[0];
  huge.facts.assign(6000, 'x');
  EXPECT_EQ(store.save(std::vector{huge}).error().code(), ErrorCode::kOutOfBudget);
}

TEST_F(Index, ReadersSeeOneSaveOrTheOther) {
  const std::vector<std::string> paths = paths_of(entries_);
  ASSERT_TRUE(store_.save(entries_).ok());
  std::vector<std::jthread> writers;
  for (const char letter : {'p', 'q'})
    writers.emplace_back([&, letter] {
      std::vector<IndexEntry> mine = entries_;
      mine[0].facts = mine[1].facts = std::string(20'000, letter);
      for (int i = 0; i < 100; ++i) ASSERT_TRUE(store_.save(mine).ok());
    });
  for (int i = 0; i < 200; ++i) {
    const auto seen = store_.load(paths);
    ASSERT_EQ(seen.size(), 2u);
    if (seen[1].facts.size() == 20'000) {
      EXPECT_EQ(seen[0].facts, seen[1].facts);
    }
  }
}

TEST_F(Index, SaysWhereItCannotBeWritten) {
  folder_.write_text("file", "");
  const Status status = IndexStore(folder_.path("file/index")).save(entries_);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::kWriteFailed);
  EXPECT_NE(status.error().file().find("file"), std::string::npos);
}

TEST(IndexOfUser, FollowsTheEnvironment) {
  struct Variable {
    explicit Variable(const char* n) : name(n) {
      if (const char* v = std::getenv(n)) before = v;
    }
    ~Variable() {
      if (before)
        ::setenv(name, before->c_str(), 1);
      else
        ::unsetenv(name);
    }
    const char* name;
    std::optional<std::string> before;
  } const cache("HEADRACE_CACHE"), xdg("XDG_CACHE_HOME"), home("HOME");
  ::setenv("HEADRACE_CACHE", "off", 1);
  EXPECT_FALSE(IndexStore::of_user());
  ::setenv("HEADRACE_CACHE", "/some/where", 1);
  EXPECT_EQ(IndexStore::of_user()->directory(), "/some/where/index");
  ::unsetenv("HEADRACE_CACHE");
  ::setenv("XDG_CACHE_HOME", "/xdg", 1);
  EXPECT_EQ(IndexStore::of_user()->directory(), "/xdg/headrace/index");
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  ::setenv("HOME", "/home/me", 1);
  EXPECT_EQ(IndexStore::of_user()->directory(), "/home/me/.cache/headrace/index");
  ::unsetenv("HOME");
  EXPECT_FALSE(IndexStore::of_user());
}

}  // namespace
}  // namespace headrace
