#include "assembly/kept/decoded_cache.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "cache/testing/rows.h"

namespace headrace {
namespace {

using namespace std::chrono_literals;
using Lookup = RowStore::Lookup;

class DecodedCacheOfRows : public ::testing::Test {
 protected:
  DecodedCacheOfRows() {
    const auto store = RowStore::in_memory(testing_rows::layout_of(10, 4)).value();
    cache_.rows = std::make_shared<RowStores>(std::vector<std::shared_ptr<RowStore>>{store, store});
  }
  [[nodiscard]] RowStore& store() const { return (*cache_.rows)[0]; }
  DecodedCache cache_;
};

TEST_F(DecodedCacheOfRows, WaitsForTheOneThatFillsABlock) {
  cache_.patience = 1h;
  ASSERT_EQ(store().look_up(1), Lookup::kFill);
  std::jthread filler([&] {
    std::this_thread::sleep_for(5ms);
    EXPECT_TRUE(testing_rows::put_rows(store(), 1).ok());
    store().publish(1);
  });
  EXPECT_EQ(cache_.look_up(0, 1), Lookup::kReady);
}

/// A second wait of this patience would never end.
TEST_F(DecodedCacheOfRows, IsPatientOnce) {
  ASSERT_EQ(store().look_up(1), Lookup::kFill);
  cache_.patience = 1ms;
  EXPECT_EQ(cache_.look_up(1, 1), Lookup::kBusy);
  cache_.patience = std::chrono::hours(10'000);
  EXPECT_EQ(cache_.look_up(1, 1), Lookup::kBusy);
  store().abandon(1);
  EXPECT_EQ(cache_.look_up(1, 1), Lookup::kFill);
}

}  // namespace
}  // namespace headrace
