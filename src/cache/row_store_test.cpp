#include "cache/row_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "cache/testing_rows.h"

namespace headrace {
namespace {

using namespace std::chrono_literals;
using namespace testing_rows;
using Take = RowStore::Take;

TEST(RowLayout, CountsRowsBlocksAndBytes) {
  const RowLayout layout = layout_of(10, 4);
  EXPECT_EQ(layout.rows(), 10u);
  EXPECT_EQ(layout.num_blocks(), 3u);
  EXPECT_EQ(layout.row_bytes(), 68u);
  EXPECT_EQ(layout.data_bytes(), 680u);
  EXPECT_EQ(block_bytes(layout, 0, 2), (ByteRange{480, 120}));
}

TEST(RowLayout, RefusesWhatCannotBe) {
  const auto code = [](const RowLayout& layout) { return RowStore::in_memory(layout).error().code(); };
  RowLayout empty = layout_of(10, 4), backwards = empty, twice = empty, huge = empty, no_bytes = empty;
  empty.fields.clear();
  backwards.block_starts = {0, 5, 5};
  twice.fields[1].name = "image";
  huge.fields[0].shape = {std::uint64_t{1} << 40, std::uint64_t{1} << 40};
  no_bytes.fields[0].dtype.itemsize = 0;
  for (const RowLayout& layout : {empty, backwards, twice, huge, no_bytes, RowLayout{}})
    EXPECT_EQ(code(layout), ErrorCode::kInvalidArgument);
}

TEST(RowStoreInMemory, ABlockIsFilledOnceAndReadInPlace) {
  const auto store = RowStore::in_memory(layout_of(10, 4)).value();
  EXPECT_EQ(store->take(1), Take::kFill);
  EXPECT_EQ(store->take(1), Take::kBusy);
  EXPECT_FALSE(store->ready(1));
  EXPECT_TRUE(put_rows(*store, 1).ok());
  EXPECT_FALSE(store->publish(1));
  EXPECT_EQ(store->take(1), Take::kReady);
  EXPECT_TRUE(store->ready(1));
  EXPECT_TRUE(has_rows(*store, 1));
  EXPECT_EQ(store->ready_blocks(), 1u);
  EXPECT_FALSE(store->complete());
  EXPECT_EQ(store->writable(0, 2), store->field(0) + 480);
  EXPECT_TRUE(store->check(1).ok());
  EXPECT_TRUE(store->all_checked());
  EXPECT_GE(store->charged_bytes(), store->layout().data_bytes());
  EXPECT_TRUE(fill_all(*store));
  EXPECT_EQ(store->ready_blocks(), 3u);
  EXPECT_TRUE(store->finish().ok());
}

TEST(RowStoreInMemory, AnAbandonedBlockIsSomebodyElses) {
  const auto store = RowStore::in_memory(layout_of(10, 4)).value();
  EXPECT_EQ(store->take(0), Take::kFill);
  store->abandon(0);
  EXPECT_FALSE(store->wait(0, 1s));
  EXPECT_EQ(store->take(0), Take::kFill);
  EXPECT_FALSE(store->publish(0));
  EXPECT_TRUE(store->wait(0, 0s));
}

TEST(RowStoreInMemory, WaitingEndsWithTheFilling) {
  const auto store = RowStore::in_memory(layout_of(10, 4)).value();
  for (const bool good : {true, false}) {
    const std::uint64_t block = good ? 0 : 1;
    ASSERT_EQ(store->take(block), Take::kFill);
    EXPECT_FALSE(store->wait(block, 1ms));
    std::atomic<int> waiting{0}, saw_ready{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i)
      threads.emplace_back([&] {
        ++waiting;
        if (store->wait(block, 1h)) ++saw_ready;
      });
    while (waiting != 3) std::this_thread::yield();
    std::this_thread::sleep_for(2ms);
    good ? void(store->publish(block)) : store->abandon(block);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(saw_ready, good ? 3 : 0);
  }
}

TEST(RowStoreInMemory, ThreadsFillEveryBlockOnceAndOneSeesTheLast) {
  for (int round = 0; round < 20; ++round) {
    const auto store = RowStore::in_memory(layout_of(997, 10)).value();
    const std::uint64_t blocks = store->layout().num_blocks();
    std::atomic<int> fills{0}, lasts{0}, wrong{0};
    std::vector<std::thread> threads;
    for (std::uint64_t thread = 0; thread < 4; ++thread)
      threads.emplace_back([&, thread] {
        for (std::uint64_t i = 0; i < blocks; ++i) {
          const std::uint64_t block = (i * 7 + thread * 3) % blocks;
          Take take = store->take(block);
          while (take == Take::kBusy) {
            store->wait(block, 1s);
            take = store->take(block);
          }
          if (take == Take::kFill) {
            if (i % 5 == thread) {  // somebody else may
              store->abandon(block);
              if (store->take(block) != Take::kFill) continue;
            }
            ++fills;
            if (!put_rows(*store, block).ok()) ++wrong;
            if (store->publish(block)) {
              ++lasts;
              if (!store->complete()) ++wrong;
            }
          }
          if (!has_rows(*store, block)) ++wrong;
        }
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(fills, static_cast<int>(blocks));
    EXPECT_EQ(lasts, 1);
    EXPECT_EQ(wrong, 0);
    EXPECT_TRUE(store->complete());
  }
}

TEST(RowStoreInMemory, NoRowsAreCompleteAtOnce) {
  RowLayout layout = layout_of(10, 4);
  layout.block_starts = {0};
  const auto store = RowStore::in_memory(layout).value();
  EXPECT_TRUE(store->complete());
  EXPECT_EQ(store->ready_blocks(), 0u);
}

}  // namespace
}  // namespace headrace
