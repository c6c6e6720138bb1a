#include "cache/testing/row_store_suite.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "cache/testing/rows.h"

namespace headrace::testing_rows {
namespace {

using namespace std::chrono_literals;
using Lookup = RowStore::Lookup;

class RowStoreTest : public testing::Test {
 public:
  using Body = void (*)(RowStoreTest&);
  RowStoreTest(std::function<RowStoreCase()> make, Body body) : make_(std::move(make)), body_(body) {}
  void TestBody() override {
    given = make_();
    body_(*this);
  }
  [[nodiscard]] std::shared_ptr<RowStore> open(const RowLayout& layout = layout_of(10, 4)) const {
    auto store = given.open(layout);
    EXPECT_TRUE(store.ok()) << store.error().what();
    return store.ok() ? *store : nullptr;
  }

  RowStoreCase given;

 private:
  const std::function<RowStoreCase()> make_;
  const Body body_;
};

bool has_all_rows(RowStore& store) {
  for (std::uint64_t block = 0; block < store.layout().num_blocks(); ++block)
    if (store.look_up(block) != Lookup::kReady || !store.check(block).ok() || !has_rows(store, block)) return false;
  return true;
}

void keeps_its_layout(RowStoreTest& test) {
  RowLayout layout = layout_of(10, 4);
  layout.block_starts = {0, 1, 7, 10};  // of any lengths
  const auto store = test.open(layout);
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(store->layout().block_starts, layout.block_starts);
  ASSERT_EQ(store->layout().fields.size(), 2U);
  EXPECT_EQ(store->layout().fields[0].shape, layout.fields[0].shape);
  EXPECT_FALSE(store->complete());
  EXPECT_EQ(store->ready_blocks(), 0U);
  EXPECT_TRUE(fill_all(*store));
  EXPECT_TRUE(has_all_rows(*store));
}

void refuses_layouts_that_cannot_be(RowStoreTest& test) {
  RowLayout empty = layout_of(10, 4), backwards = empty, twice = empty, huge = empty, no_bytes = empty;
  empty.fields.clear();
  backwards.block_starts = {0, 5, 5};
  twice.fields[1].name = "image";
  huge.fields[0].shape = {std::uint64_t{1} << 40, std::uint64_t{1} << 40};
  no_bytes.fields[0].dtype.itemsize = 0;
  for (const RowLayout& layout : {empty, backwards, twice, huge, no_bytes, RowLayout{}}) {
    const auto store = test.given.open(layout);
    ASSERT_FALSE(store.ok());
    EXPECT_EQ(store.error().code(), ErrorCode::kInvalidArgument) << store.error().what();
  }
}

void a_block_is_filled_once(RowStoreTest& test) {
  const auto store = test.open();
  ASSERT_NE(store, nullptr);
  EXPECT_TRUE(store->can_fill(1));
  EXPECT_EQ(store->look_up(1), Lookup::kFill);
  EXPECT_FALSE(store->can_fill(1));
  EXPECT_EQ(store->look_up(1), Lookup::kBusy);
  EXPECT_FALSE(store->ready(1));
  ASSERT_TRUE(put_rows(*store, 1).ok());
  EXPECT_FALSE(store->ready(1));
  EXPECT_FALSE(store->publish(1));
  EXPECT_TRUE(store->ready(1));
  EXPECT_FALSE(store->can_fill(1));
  EXPECT_EQ(store->look_up(1), Lookup::kReady);
  EXPECT_TRUE(store->wait(1, 0s));
  EXPECT_TRUE(store->check(1).ok());
  store->will_need(1, {1, 2});
  EXPECT_TRUE(has_rows(*store, 1));
  EXPECT_EQ(store->ready_blocks(), 1U);
  EXPECT_FALSE(store->complete());
  EXPECT_TRUE(fill_all(*store));
  EXPECT_EQ(store->ready_blocks(), 3U);
  EXPECT_TRUE(has_all_rows(*store));
  EXPECT_TRUE(store->all_checked());
}

void takers_write_in_place(RowStoreTest& test) {
  const auto store = test.open();
  ASSERT_NE(store, nullptr);
  ASSERT_EQ(store->look_up(2), Lookup::kFill);
  for (std::size_t field = 0; field < 2; ++field) {
    std::byte* const place = store->writable(field, 2);
    ASSERT_EQ(place != nullptr, test.given.writable);
    if (place == nullptr) continue;
    EXPECT_EQ(place, store->field(field) + block_bytes(store->layout(), field, 2).offset);
    const auto rows = rows_of(store->layout(), 2);
    std::memcpy(place, rows[field].data(), rows[field].size());
  }
  ASSERT_TRUE(test.given.writable || put_rows(*store, 2).ok());
  store->publish(2);
  EXPECT_TRUE(has_rows(*store, 2));
}

void an_abandoned_block_is_somebody_elses(RowStoreTest& test) {
  const auto store = test.open();
  ASSERT_NE(store, nullptr);
  ASSERT_EQ(store->look_up(0), Lookup::kFill);
  store->abandon(0);
  EXPECT_TRUE(store->can_fill(0));
  EXPECT_FALSE(store->wait(0, 1s));
  EXPECT_EQ(store->look_up(0), Lookup::kFill);
  ASSERT_TRUE(put_rows(*store, 0).ok());
  EXPECT_FALSE(store->publish(0));
  EXPECT_TRUE(store->wait(0, 0s));
}

void waiting_ends_with_the_filling(RowStoreTest& test) {
  const auto store = test.open();
  ASSERT_NE(store, nullptr);
  for (const bool good : {true, false}) {
    const std::uint64_t block = good ? 0 : 1;
    ASSERT_EQ(store->look_up(block), Lookup::kFill);
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
    if (good) {
      EXPECT_TRUE(put_rows(*store, block).ok());
      store->publish(block);
    } else {
      store->abandon(block);
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(saw_ready, good ? 3 : 0);
  }
}

void threads_fill_every_block_once(RowStoreTest& test) {
  const auto first = test.open(layout_of(497, 10));
  const auto second = test.given.shared ? test.open(layout_of(497, 10)) : first;
  ASSERT_TRUE(first != nullptr && second != nullptr);
  const std::uint64_t blocks = first->layout().num_blocks();
  std::atomic<int> fills{0}, lasts{0}, wrong{0};
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      RowStore& store = thread % 2 == 0 ? *first : *second;
      for (std::uint64_t i = 0; i < blocks; ++i) {
        const std::uint64_t block = (i * 7 + thread * 3) % blocks;
        Lookup found = store.look_up(block);
        while (found == Lookup::kBusy) {
          store.wait(block, 1s);
          found = store.look_up(block);
        }
        if (found == Lookup::kFill && i % 5 == thread) {  // another thread may
          store.abandon(block);
          found = store.look_up(block);
          if (found == Lookup::kBusy) continue;
        }
        if (found == Lookup::kFill) {
          ++fills;
          if (!put_rows(store, block).ok()) ++wrong;
          if (store.publish(block)) {
            ++lasts;
            if (!store.complete() || !store.finish().ok()) ++wrong;
          }
        }
        if (!has_rows(store, block)) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fills, static_cast<int>(blocks));
  EXPECT_EQ(lasts, 1);
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(first->complete());
  EXPECT_TRUE(second->finish().ok());  // twice is as good as once
  EXPECT_TRUE(has_all_rows(*second));
}

void no_rows_are_complete_at_once(RowStoreTest& test) {
  RowLayout layout = layout_of(10, 4);
  layout.block_starts = {0};
  const auto store = test.given.open(layout);
  ASSERT_EQ(store.ok(), test.given.takes_no_rows) << (store.ok() ? "" : store.error().what());
  if (!store.ok()) return;
  EXPECT_TRUE((*store)->complete());
  EXPECT_EQ((*store)->ready_blocks(), 0U);
}

void stores_share_what_they_should(RowStoreTest& test) {
  const auto first = test.open();
  ASSERT_NE(first, nullptr);
  ASSERT_EQ(first->look_up(1), Lookup::kFill);
  ASSERT_TRUE(put_rows(*first, 1).ok());
  first->publish(1);
  ASSERT_EQ(first->look_up(2), Lookup::kFill);
  const auto second = test.open();
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->ready_blocks(), test.given.shared ? 1U : 0U);
  EXPECT_EQ(second->look_up(2), test.given.shared ? Lookup::kBusy : Lookup::kFill);
  if (!test.given.shared) return;
  EXPECT_EQ(second->look_up(1), Lookup::kReady);
  EXPECT_TRUE(has_rows(*second, 1));
  first->abandon(2);
  EXPECT_TRUE(fill_all(*second));
  EXPECT_TRUE(first->complete());
  EXPECT_TRUE(has_all_rows(*first));
}

void complete_rows_are_found_again(RowStoreTest& test) {
  {
    const auto store = test.open();
    ASSERT_NE(store, nullptr);
    ASSERT_TRUE(fill_all(*store));
  }
  const auto store = test.open();
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(store->complete(), test.given.persistent);
  EXPECT_EQ(store->ready_blocks(), test.given.persistent ? 3U : 0U);
  if (!test.given.persistent) return;
  EXPECT_TRUE(has_all_rows(*store));
  EXPECT_TRUE(store->all_checked());
  EXPECT_EQ(store->writable(0, 0), nullptr);  // whole: it is not written to
  EXPECT_FALSE(put_rows(*store, 0).ok());
}

}  // namespace

void register_row_store_tests(const std::string& suite, const std::string& name, std::function<RowStoreCase()> make) {
  const std::pair<const char*, RowStoreTest::Body> tests[] = {
      {"KeepsItsLayout", keeps_its_layout},
      {"RefusesLayoutsThatCannotBe", refuses_layouts_that_cannot_be},
      {"ABlockIsFilledOnce", a_block_is_filled_once},
      {"TakersWriteInPlace", takers_write_in_place},
      {"AnAbandonedBlockIsSomebodyElses", an_abandoned_block_is_somebody_elses},
      {"WaitingEndsWithTheFilling", waiting_ends_with_the_filling},
      {"ThreadsFillEveryBlockOnce", threads_fill_every_block_once},
      {"NoRowsAreCompleteAtOnce", no_rows_are_complete_at_once},
      {"StoresShareWhatTheyShould", stores_share_what_they_should},
      {"CompleteRowsAreFoundAgain", complete_rows_are_found_again},
  };
  for (const auto& [test, body] : tests)
    testing::RegisterTest((suite + "/" + name).c_str(), test, nullptr, nullptr, __FILE__, __LINE__,
                          [make, body = body]() -> RowStoreTest* { return new RowStoreTest(make, body); });
}

}  // namespace headrace::testing_rows
