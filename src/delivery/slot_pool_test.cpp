#include "delivery/slot_pool.h"

#include <gtest/gtest.h>

#include <new>

#include "base/testing/failing_new.h"
#include "delivery/slot_arena.h"

namespace headrace {
namespace {

std::shared_ptr<const std::vector<Field>> fields() {
  return std::make_shared<std::vector<Field>>(
      std::vector<Field>{{"x", "x", {DType::Kind::kFloat, 4}, {1000}}, {"y", "y", {DType::Kind::kInt, 8}, {}}});
}

TEST(SlotPool, BuffersAreReusedOnlyWhenLetGo) {
  auto pool = std::make_shared<SlotPool>(fields(), fields(), 100, 4);
  auto first = pool->acquire({}, false);
  ASSERT_TRUE(first.ok());
  std::byte* const x = (*first)->fields[0];
  {
    const Batch batch = pool->deliver(std::move(*first), {}, 100, 0, 0, {});
    auto second = pool->acquire({}, false);
    EXPECT_NE((*second)->fields[0], x);
    EXPECT_EQ(batch["x"].data(), x);
    EXPECT_EQ(batch["x"].shape(), (std::vector<std::uint64_t>{100, 1000}));
  }
  auto third = pool->acquire({}, false);
  auto fourth = pool->acquire({}, false);
  EXPECT_TRUE((*third)->fields[0] == x || (*fourth)->fields[0] == x);
}

TEST(SlotPool, SmallFieldsDoNotKeepLargeOnes) {
  auto pool = std::make_shared<SlotPool>(fields(), fields(), 100, 4);
  auto slot = pool->acquire({}, false);
  reinterpret_cast<std::int64_t*>((*slot)->fields[1])[7] = 42;
  std::shared_ptr<void> y;
  {
    const Batch batch = pool->deliver(std::move(*slot), {}, 100, 0, 0, {});
    EXPECT_EQ(batch["y"].as<std::int64_t>()[7], 42);
    y = batch.holder(1);
    EXPECT_EQ(pool->usage().held_batches, 1u);
    EXPECT_EQ(pool->usage().allocated_bytes, PageBuffer::charge_for(100 * 4000) + PageBuffer::charge_for(832) + 832);
  }
  EXPECT_EQ(pool->usage().held_batches, 1u);
  EXPECT_EQ(static_cast<std::int64_t*>(y.get())[7], 42);
}

TEST(SlotPool, WhatIsHeldBeyondTwoIsTheConsumers) {
  auto pool = std::make_shared<SlotPool>(fields(), fields(), 100, 4);
  int calls = 0;
  pool->set_release_callback([&] { ++calls; });
  std::vector<Batch> kept;
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(pool->room(false));
    kept.push_back(pool->deliver(std::move(*pool->acquire({}, false)), {}, 100, 0, 0, {}));
  }
  {
    const auto in_window = *pool->acquire({}, false);
    EXPECT_TRUE(pool->room(false));
    const auto another = *pool->acquire({}, false);
    EXPECT_FALSE(pool->room(false));
    EXPECT_TRUE(pool->room(true));
  }
  EXPECT_TRUE(pool->room(false));
  const auto usage = pool->usage();
  EXPECT_EQ(usage.held_batches, 10u);
  EXPECT_EQ(usage.held_over_bytes, 8 * (PageBuffer::charge_for(100 * 4000) + 832));
  calls = 0;
  kept.clear();
  EXPECT_EQ(calls, 2);  // once no field is held so often any more: for each of the two slots, not for each field
  EXPECT_EQ(pool->usage().held_over_bytes, 0u);
  EXPECT_EQ(pool->usage().peak_held_over_bytes, usage.held_over_bytes);
  EXPECT_LE(pool->usage().allocated_bytes, 4 * SlotPool::slot_bytes(*fields(), 100));
}

TEST(SlotPool, SmallFieldsHeldBeyondTwoAreCountedToo) {
  std::vector<Field> small;
  for (int f = 0; f < 300; ++f) small.push_back({"f" + std::to_string(f), "", {DType::Kind::kFloat, 4}, {150}});
  const auto schema = std::make_shared<const std::vector<Field>>(small);
  std::vector<Field> with_rows = small;
  with_rows.push_back({"_rows", "", {DType::Kind::kInt, 8}, {2}});
  constexpr std::uint64_t kField = 100 * 600 + 32;  // to the next 64 bytes
  constexpr std::uint64_t kSlots = 5;
  auto pool = std::make_shared<SlotPool>(schema, std::make_shared<const std::vector<Field>>(with_rows), 100, kSlots);
  std::vector<Batch> kept;
  for (int i = 0; i < 25; ++i)
    kept.push_back(pool->deliver(*pool->acquire({}, true), {}, 100, 0, 0, {{SlotPool::column(100 * 16), 100}}));
  EXPECT_EQ(pool->usage().held_over_bytes, 23 * (300 * kField + 1600));
  EXPECT_LE(pool->usage().peak_bytes, kSlots * SlotPool::slot_bytes(*schema, 100));
  // Those that are held within the budget take the place of two slots.
  std::vector<std::unique_ptr<SlotMemory>> window;
  while (pool->room(false)) window.push_back(*pool->acquire({}, false));
  EXPECT_EQ(window.size(), kSlots - 2);
  window.clear();
  EXPECT_LE(pool->usage().peak_bytes, kSlots * SlotPool::slot_bytes(*schema, 100));
  int calls = 0;
  pool->set_release_callback([&] { ++calls; });
  const std::shared_ptr<void> one = kept[0].holder(7);
  kept.clear();
  EXPECT_EQ(calls, 1);  // one field still stands for a slot
  EXPECT_EQ(pool->usage().held_over_bytes, 0u);
  EXPECT_EQ(pool->usage().held_batches, 1u);
  EXPECT_LE(pool->usage().allocated_bytes, kSlots * SlotPool::slot_bytes(*schema, 100));
  EXPECT_TRUE(pool->room(false));
}

TEST(SlotPool, FewerSlotsAreFreedAsTheyComeBack) {
  auto pool = std::make_shared<SlotPool>(fields(), fields(), 100, 6);
  const std::uint64_t slot = SlotPool::slot_bytes(*fields(), 100);
  std::vector<std::unique_ptr<SlotMemory>> window;
  for (int i = 0; i < 6; ++i) window.push_back(*pool->acquire({}, false));
  window.pop_back();
  EXPECT_EQ(pool->usage().allocated_bytes, 6 * slot);
  pool->limit_slots(3);
  EXPECT_EQ(pool->usage().allocated_bytes, 5 * slot);  // what was free went at once
  EXPECT_FALSE(pool->room(false));
  for (std::uint64_t left = 4; left > 0; --left) {
    window.pop_back();
    EXPECT_EQ(pool->usage().allocated_bytes, std::max<std::uint64_t>(left, 3) * slot);
  }
  EXPECT_TRUE(pool->room(false));
  pool->limit_slots(5);
  for (int i = 0; i < 5; ++i) window.push_back(*pool->acquire({}, false));
  EXPECT_FALSE(pool->room(false));
  pool->limit_slots(100);  // no more than at first
  window.push_back(*pool->acquire({}, false));
  EXPECT_FALSE(pool->room(false));
  pool->close();
  pool->limit_slots(6);  // nothing is kept once it is closed
  window.clear();
  EXPECT_EQ(pool->usage().allocated_bytes, 0u);
}

TEST(Batch, SaysWhichFieldsThereAre) {
  auto pool = std::make_shared<SlotPool>(fields(), fields(), 4, 2);
  const Batch batch = pool->deliver(std::move(*pool->acquire({}, false)), {}, 4, 0, 0, {});
  EXPECT_THROW((void)batch["z"], Error);
  EXPECT_THROW((void)batch["x"].as<double>(), Error);
  EXPECT_EQ(batch["x"].as<float>().size(), 4000u);
}

/// Let each allocation of `work` fail once. \return How many there are.
template <class Work, class Check>
std::int64_t fail_each_allocation(Work&& work, Check&& check) {
  for (std::int64_t n = 1;; ++n) {
    std::uint64_t failed = 0;
    {
      const testing::FailingNew fails("", n);
      try {
        work();
      } catch (const std::bad_alloc&) {
      }
      failed = fails.failed();
    }
    check(n);
    if (failed == 0) return n - 1;
  }
}

TEST(SlotPool, CountsAreRightWhereverMemoryEnds) {
  auto pool = std::make_shared<SlotPool>(fields(), fields(), 100, 4);
  const auto cycle = [&] {
    auto slot = pool->acquire({}, false);
    std::vector<DerivedColumn> derived;
    (void)pool->deliver(std::move(*slot), {}, 100, 0, 0, std::move(derived));
  };
  const auto check = [&](std::int64_t n) {
    SCOPED_TRACE(n);
    const auto usage = pool->usage();
    EXPECT_EQ(usage.held_batches, 0u);
    EXPECT_EQ(usage.held_over_bytes, 0u);
    EXPECT_LE(usage.allocated_bytes, 4 * SlotPool::slot_bytes(*fields(), 100));
    std::vector<std::unique_ptr<SlotMemory>> all;  // four can be had, and no more
    for (int i = 0; i < 4; ++i) {
      ASSERT_TRUE(pool->room(false));
      all.push_back(std::move(*pool->acquire({}, false)));
    }
    EXPECT_FALSE(pool->room(false));
  };
  EXPECT_GT(fail_each_allocation(cycle, check), 6);
}

TEST(SlotArena, ABatchWithoutAHoleTakesThePagesOfTheHoles) {
  const std::vector<SlotField> columns{{1 << 20, 0, false}};
  const auto arena = std::make_shared<SlotArena>(columns, 2, 10 << 20, fields());
  const auto batch_of = [&](std::uint64_t rows, bool starving) {
    StepSizes sizes;
    sizes.group_rows = {rows};
    return std::move(*arena->acquire(sizes, starving));
  };
  auto before = batch_of(8, false), held = batch_of(3, false), behind = batch_of(9, false);
  ASSERT_TRUE(before && held && behind);
  before.reset();
  behind.reset();  // 17 of 20 MiB are free, 9 at most in one place
  EXPECT_EQ(batch_of(10, false), nullptr);
  auto oldest = batch_of(10, true);
  ASSERT_TRUE(oldest);
  EXPECT_EQ(arena->usage().allocated_bytes, 13U << 20) << "the holes have no pages";
  EXPECT_EQ(arena->usage().peak_held_over_bytes, 0U);
  EXPECT_EQ(batch_of(8, false), nullptr) << "what lies outside counts";
  EXPECT_TRUE(batch_of(7, false));
  const auto beyond = batch_of(12, true);
  EXPECT_EQ(arena->usage().held_over_bytes, 5U << 20);
  oldest.reset();
  EXPECT_EQ(arena->usage().held_over_bytes, 0U);
  EXPECT_EQ(arena->usage().peak_held_over_bytes, 5U << 20);
}

TEST(SlotArena, CountsAreRightWhereverMemoryEnds) {
  const std::vector<SlotField> columns{{8, 0, false}, {4, 0, false}};
  const auto arena = std::make_shared<SlotArena>(columns, 1, 1 << 16, fields());
  StepSizes sizes;
  sizes.group_rows = {100};
  std::unique_ptr<SlotMemory> before = std::move(*arena->acquire(sizes, false));  // a hole on each side
  const auto cycle = [&] {
    auto slot = arena->acquire(sizes, false);
    (void)arena->deliver(std::move(*slot), {}, 100, 0, 0, {});
  };
  const std::uint64_t used = arena->arena_usage().used_bytes;
  const auto check = [&](std::int64_t n) { EXPECT_EQ(arena->arena_usage().used_bytes, used) << n; };
  EXPECT_GT(fail_each_allocation(cycle, check), 3);
  before.reset();
  EXPECT_EQ(arena->arena_usage().used_bytes, 0u);
}

}  // namespace
}  // namespace headrace
