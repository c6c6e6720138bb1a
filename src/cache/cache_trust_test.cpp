// Whose caches are used, and what is never taken for one.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/directory/cache_directory.h"
#include "cache/testing/caches.h"

namespace headrace {
namespace {

using namespace testing_rows;
namespace fs = std::filesystem;

class CacheTrustTest : public ::testing::Test {
 protected:
  CacheFolders c_;
};

TEST_F(CacheTrustTest, RemovesNothingOfAFolderThatOnlyHasTheNameOfACache) {
  const std::string name = "results-0123456789abcdef", folder = c_.directory + "/" + name;
  c_.folder.write_text("parent/cache/" + name + "/weights.npy", "years of work");
  const Status nothing_says_so = remove_cache(c_.directory, name);
  ASSERT_FALSE(nothing_says_so.ok());
  EXPECT_EQ(nothing_says_so.error().code(), ErrorCode::kWriteFailed);
  c_.folder.write_text("parent/cache/" + name + "/manifest.json", "{}");
  c_.folder.write_text("parent/cache/" + name + "/thesis.txt", "more of it");
  const Status holds_others = remove_cache(c_.directory, name);
  ASSERT_FALSE(holds_others.ok());
  EXPECT_EQ(holds_others.error().code(), ErrorCode::kWriteFailed);
  for (const char* file : {"/weights.npy", "/manifest.json", "/thesis.txt"}) EXPECT_TRUE(fs::exists(folder + file));
}

TEST_F(CacheTrustTest, ATemporaryArraySaysNothingEither) {
  const std::string name = "results-0123456789abcdef";
  for (const char* file : {"weights.npy", "weights.npy.1.tmp"})
    c_.folder.write_text("parent/cache/" + name + "/" + file, "years of work");
  EXPECT_EQ(remove_cache(c_.directory, name).error().code(), ErrorCode::kWriteFailed);
  EXPECT_TRUE(fs::exists(c_.directory + "/" + name + "/weights.npy"));
}

TEST_F(CacheTrustTest, RowsOfAnotherUserAreUsedOnlyWithANote) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder to another user";
  ASSERT_TRUE(fill_all(*c_.store()));
  const std::string name = c_.name(), above = fs::path(c_.directory).parent_path();
  for (const std::string& path : {c_.directory, c_.path("")}) ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  CacheOpened opened = c_.open().value();
  EXPECT_TRUE(opened.store->complete());
  ASSERT_EQ(opened.notes.size(), 1u);
  EXPECT_EQ(opened.notes[0], name + ": user 12345 made this cache, and its rows are used as they are");

  ASSERT_EQ(::chown(c_.origin.sources[0].path.c_str(), 12345, 12345), 0);  // whose data they are anyway
  EXPECT_TRUE(c_.open()->notes.empty());
  ASSERT_EQ(::chown(c_.origin.sources[0].path.c_str(), 0, 0), 0);

  ASSERT_EQ(::chmod(above.c_str(), 01777), 0);  // like /tmp: any user can have made the folder
  const auto refused = c_.open();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kPermission);
  EXPECT_EQ(find_whole_cache(c_.directory, c_.origin, c_.layout).store, nullptr);
}

}  // namespace
}  // namespace headrace
