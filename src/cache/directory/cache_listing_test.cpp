#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "cache/directory/cache_directory.h"
#include "cache/testing/caches.h"
#include "cache/testing/processes.h"

namespace headrace {
namespace {

using namespace testing_rows;
using namespace testing_processes;
using State = CacheEntry::State;
using Lookup = RowStore::Lookup;
namespace fs = std::filesystem;

class CacheListingTest : public ::testing::Test {
 protected:
  CacheFolders c_;
};

TEST_F(CacheListingTest, ListingMakesNothingAndNamesTheStale) {
  EXPECT_EQ(list_caches(c_.directory).error().code(), ErrorCode::kNotFound);
  EXPECT_FALSE(fs::exists(c_.folder.path("parent")));
  ASSERT_TRUE(fill_all(*c_.store()));
  c_.folder.write_text("train.h5", "another text");
  CacheEntry entry = list_caches(c_.directory).value().at(0);
  EXPECT_EQ(entry.state, State::kStale);
  EXPECT_NE(entry.note.find("train.h5 changed: it grew from 3 to 12 bytes"), std::string::npos) << entry.note;
  fs::remove(c_.folder.path("train.h5"));
  entry = list_caches(c_.directory).value().at(0);
  EXPECT_EQ(entry.state, State::kStale);
  EXPECT_NE(entry.note.find("is gone"), std::string::npos);
  for (const State state : {State::kValid, State::kBuilding, State::kAbandoned, State::kStale, State::kDamaged})
    EXPECT_FALSE(to_string(state).empty());
}

/// As where the process is killed on the way: what is left is no cache, can be removed, and is in the way of nothing.
TEST_F(CacheListingTest, RemovingCanBeCutShort) {
  for (const bool removed_again : {true, false}) {
    ASSERT_TRUE(fill_all(*c_.store()));
    const std::string name = c_.name(), obstacle = c_.path("a.npy");
    ASSERT_TRUE(fs::create_directory(obstacle));  // no file: it cannot be unlinked
    EXPECT_EQ(remove_cache(c_.directory, name).error().code(), ErrorCode::kWriteFailed);
    fs::remove(obstacle);
    EXPECT_EQ(list_caches(c_.directory)->at(0).state, State::kDamaged);
    EXPECT_EQ(find_whole_cache(c_.directory, c_.origin, c_.layout).store, nullptr);
    if (removed_again) {
      EXPECT_TRUE(remove_cache(c_.directory, name).ok());
      EXPECT_TRUE(list_caches(c_.directory)->empty());
      continue;
    }
    ASSERT_TRUE(fill_all(*c_.store()));
    EXPECT_TRUE(all_rows_are_right(*c_.store()));
    EXPECT_EQ(list_caches(c_.directory)->at(0).state, State::kValid);
  }
}

TEST_F(CacheListingTest, RemovesWhatIsNotInUse) {
  {
    const auto store = c_.store();
    const Status busy = remove_cache(c_.directory, c_.name());
    EXPECT_EQ(busy.error().code(), ErrorCode::kInvalidArgument);
  }
  EXPECT_TRUE(remove_cache(c_.directory, c_.name()).ok());
  ASSERT_TRUE(fill_all(*c_.store()));
  const auto store = c_.store();
  for (const std::string bad : {"nothing", "", ".", "..", "../cache", "train-0123456789abcdef"}) {
    const Status status = remove_cache(c_.directory, bad);
    EXPECT_EQ(status.error().code(), ErrorCode::kNotFound);
    EXPECT_NE(status.error().hint().find(c_.name()), std::string::npos);
    EXPECT_EQ(verify_cache(c_.directory, bad, nullptr).error().code(), ErrorCode::kNotFound);
  }
  EXPECT_TRUE(remove_cache(c_.directory, c_.name()).ok());
  EXPECT_TRUE(list_caches(c_.directory).value().empty());
  EXPECT_TRUE(has_rows(*store, 3));  // a reader goes on reading
}

TEST_F(CacheListingTest, VerifyingCanBeStopped) {
  ASSERT_TRUE(fill_all(*c_.store()));
  std::uint64_t calls = 0, last = 0;
  const auto count = [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_EQ(total, c_.layout.data_bytes());
    EXPECT_GT(done, last);
    last = done;
    return ++calls < 3;
  };
  EXPECT_EQ(verify_cache(c_.directory, c_.name(), count).error().code(), ErrorCode::kCancelled);
  EXPECT_EQ(calls, 3u);
}

}  // namespace
}  // namespace headrace
