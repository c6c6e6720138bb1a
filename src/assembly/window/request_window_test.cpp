#include "assembly/window/request_window.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <new>
#include <thread>

#include "order/steps/fixed_steps.h"
#include "order/testing/random_mixture.h"

namespace headrace {
namespace {

/// Slots that hold (block, row) pairs instead of data.
struct FakeMemory : SlotMemory {
  std::vector<std::uint64_t> rows;
};
struct FakeAllocator : SlotAllocator {
  std::uint64_t batch_rows;
  explicit FakeAllocator(std::uint64_t rows) : batch_rows(rows) {}
  bool room(bool) const override { return true; }
  Result<std::unique_ptr<SlotMemory>> acquire(const StepSizes&, bool) override {
    auto m = std::make_unique<FakeMemory>();
    m->rows.assign(batch_rows, ~std::uint64_t{0});
    m->fields.push_back(reinterpret_cast<std::byte*>(m->rows.data()));
    return std::unique_ptr<SlotMemory>(std::move(m));
  }
};
struct Deliveries {
  std::vector<std::vector<std::uint64_t>> batches;
  double decodes_a_block = 0;
  std::optional<Error> error;
};

/// Deliver `epochs` epochs with some threads through a window of `slots`; rows are named block << 32 | row.
Deliveries run(const std::shared_ptr<const StepPlan>& steps, const std::shared_ptr<const BlockTable>& blocks,
               std::uint64_t slots, unsigned threads, std::uint64_t epochs, std::uint64_t bad_block = ~0ull) {
  FakeAllocator allocator(steps->most_rows());
  RequestWindow window(steps, blocks, {.max_slots = slots}, allocator);
  std::atomic<std::uint64_t> claims{0};
  std::vector<std::jthread> workers;
  for (unsigned t = 0; t < threads; ++t)
    workers.emplace_back([&] {
      Claim claim;
      while (window.claim(claim)) {
        if (claim.epoch < epochs) ++claims;  // not what was begun of the epoch after the last
        for (const SlotRun& r : claim.runs)
          for (std::uint32_t i = r.begin; i < r.end; ++i)
            reinterpret_cast<std::uint64_t*>(r.slot->memory->fields[0])[claim.requests[i].position] =
                std::uint64_t{claim.unit} << 32 | claim.requests[i].item;
        std::vector<RowFailure> failures;
        if (claim.unit == bad_block) failures.push_back({{0, 1u << 30}, Error(ErrorCode::kCorruptData, "bad block")});
        window.complete(claim, failures);
      }
    });
  Deliveries out;
  for (std::uint64_t e = 0; e < epochs; ++e) {
    window.start_epoch(e);
    for (;;) {
      auto batch = window.next();
      if (!batch.ok()) {
        out.error = batch.error();
        break;
      }
      if (!*batch) break;
      auto& rows = static_cast<FakeMemory&>(*(**batch).memory).rows;
      rows.resize((**batch).rows);
      EXPECT_EQ((**batch).epoch, e);
      out.batches.push_back(rows);
    }
  }
  window.stop();
  workers.clear();
  out.decodes_a_block = static_cast<double>(claims) / static_cast<double>(blocks->num_blocks() * epochs);
  return out;
}

std::shared_ptr<const StepPlan> cut(std::shared_ptr<const Sampler> sampler, std::uint64_t global_batch,
                                    RankShare share = {}, Tail tail = Tail::kPartial) {
  return std::make_shared<FixedSteps>(std::move(sampler), global_batch, share, tail);
}

std::vector<std::vector<std::uint64_t>> expected(const StepPlan& steps, std::uint64_t epochs) {
  std::vector<std::vector<std::uint64_t>> all;
  for (std::uint64_t e = 0; e < epochs; ++e) {
    const auto cursor = steps.cursor(e, 0);
    for (std::uint64_t step = 0; step < steps.num_steps(e); ++step) {
      std::vector<SampleRef> batch;
      std::vector<BlockRows> counted_elsewhere;
      bool counted = false;
      cursor->next(batch, counted_elsewhere, counted);
      all.emplace_back();
      for (SampleRef s : batch) all.back().push_back(std::uint64_t{s.block} << 32 | s.row);
    }
  }
  return all;
}

TEST(RequestWindow, AnyWindowAndThreadsDeliverTheSamplersBatches) {
  EXPECT_TRUE(rc::check([] {
    std::vector<BlockTable::FileBlocks> files;
    for (int n = *rc::gen::inRange(1, 4); n > 0; --n) {
      files.push_back({*rc::gen::inRange<std::uint64_t>(0, 300), *rc::gen::inRange<std::uint64_t>(1, 40)});
      if (*rc::gen::inRange(0, 3) == 0)  // blocks that differ in length
        for (std::uint64_t end = 0; end < files.back().rows;)
          files.back().ends.push_back(end = std::min(end + *rc::gen::inRange<std::uint64_t>(1, 50), files.back().rows));
    }
    const auto blocks = std::make_shared<BlockTable>(files);
    const auto batch = *rc::gen::inRange<std::uint64_t>(1, 100);
    const auto slots = *rc::gen::inRange<std::uint64_t>(1, 30);
    const auto threads = *rc::gen::inRange<unsigned>(1, 5);
    const BlockShuffleShape shape{*rc::gen::inRange<std::uint32_t>(1, 9), *rc::gen::inRange<std::uint32_t>(1, 5)};
    const auto world = *rc::gen::inRange<std::uint32_t>(1, 5);
    const RankShare share{*rc::gen::inRange<std::uint32_t>(0, world), world};
    const Tail tail = *rc::gen::element(Tail::kPartial, Tail::kDrop, Tail::kPad);
    if (blocks->num_rows() == 0) return;
    for (const auto& sampler : {std::shared_ptr<const Sampler>(make_block_shuffle(blocks, shape, 11)),
                                std::shared_ptr<const Sampler>(make_global_shuffle(blocks, 11)),
                                std::shared_ptr<const Sampler>(make_sequential(blocks)), random_mixture(blocks)}) {
      const auto steps = cut(sampler, batch * world, share, tail);
      const Deliveries got = run(steps, blocks, slots, threads, 3);
      RC_ASSERT(!got.error);
      RC_ASSERT(got.batches == expected(*steps, 3));
    }
  }));
}

TEST(RequestWindow, ARankWithoutASampleGetsAnothersOnceMore) {
  const auto blocks = std::make_shared<BlockTable>(std::vector<BlockTable::FileBlocks>{{9, 4}});
  const auto steps = cut(make_sequential(blocks), 8, {0, 8});  // of the last batch, one row, it gets no other
  for (int i = 0; i < 20; ++i) EXPECT_EQ(run(steps, blocks, 1, 2, 2).batches.back().size(), 1u);
}

TEST(RequestWindow, BlocksAreDecodedOnceFromTheSpanOnAndAFewTimesBelow) {
  const auto blocks = std::make_shared<BlockTable>(std::vector<BlockTable::FileBlocks>{{512 * 32, 32}});
  const std::shared_ptr<const Sampler> sampler =
      make_block_shuffle(blocks, BlockShuffleShape{8, 4}, 3);  // a pool spans 8 batches
  const auto steps = cut(sampler, 128);
  const std::uint64_t span = steps->span_steps();
  for (unsigned threads : {1u, 3u}) {
    EXPECT_DOUBLE_EQ(run(steps, blocks, span, threads, 2).decodes_a_block, 1.0);
    EXPECT_DOUBLE_EQ(run(steps, blocks, span + 5, threads, 2).decodes_a_block, 1.0);
    const double five = run(steps, blocks, 5, threads, 2).decodes_a_block;
    const double two = run(steps, blocks, 2, threads, 2).decodes_a_block;
    EXPECT_GT(five, 1.0);
    EXPECT_LE(five, 2.6);
    EXPECT_GT(two, five);
    EXPECT_LE(two, 5.6);
    EXPECT_LE(run(steps, blocks, 1, threads, 2).decodes_a_block, 10.0);
  }
}

TEST(RequestWindow, AFailedBlockEndsTheEpochAtTheSameBatchForAnyThreads) {
  const auto blocks = std::make_shared<BlockTable>(std::vector<BlockTable::FileBlocks>{{100 * 16, 16}});
  const std::shared_ptr<const Sampler> sampler = make_block_shuffle(blocks, BlockShuffleShape{4, 4}, 8);
  std::size_t first_bad = 0;
  const auto steps = cut(sampler, 50);
  const auto batches = expected(*steps, 1);
  const auto has_bad = [](const std::vector<std::uint64_t>& b) {
    return std::any_of(b.begin(), b.end(), [](std::uint64_t r) { return r >> 32 == 37; });
  };
  while (!has_bad(batches[first_bad])) ++first_bad;
  for (std::uint64_t slots : {1u, 3u, 40u})
    for (unsigned threads : {1u, 2u, 4u}) {
      const Deliveries got = run(steps, blocks, slots, threads, 1, 37);
      ASSERT_TRUE(got.error.has_value());
      EXPECT_EQ(got.error->code(), ErrorCode::kCorruptData);
      EXPECT_EQ(got.batches.size(), first_bad);
    }
}

TEST(RequestWindow, BreakingOffAndNamingAnotherEpochStartsCleanly) {
  const auto blocks = std::make_shared<BlockTable>(std::vector<BlockTable::FileBlocks>{{640, 16}});
  const std::shared_ptr<const Sampler> sampler = make_block_shuffle(blocks, BlockShuffleShape{4, 2}, 8);
  FakeAllocator allocator(32);
  RequestWindow window(cut(sampler, 32), blocks, {.max_slots = 6}, allocator);
  std::vector<std::jthread> workers;
  for (int t = 0; t < 2; ++t)
    workers.emplace_back([&] {
      Claim claim;
      while (window.claim(claim)) {
        for (const SlotRun& r : claim.runs)
          for (std::uint32_t i = r.begin; i < r.end; ++i)
            reinterpret_cast<std::uint64_t*>(r.slot->memory->fields[0])[claim.requests[i].position] =
                std::uint64_t{claim.unit} << 32 | claim.requests[i].item;
        window.complete(claim, {});
      }
    });
  for (std::uint64_t epoch : {0ull, 1ull, 5ull, 5ull, 2ull, 1000ull}) {
    window.start_epoch(epoch);
    auto cursor = sampler->cursor({.epoch = epoch, .global_batch = 32});
    for (std::uint64_t b = 0; b < epoch % 4 + 3; ++b) {
      auto got = window.next();
      ASSERT_TRUE(got.ok() && got->has_value());
      std::vector<SampleRef> want;
      std::vector<BlockRows> counted_elsewhere;
      cursor->next_step(want, counted_elsewhere);
      const auto& rows = static_cast<FakeMemory&>(*(**got).memory).rows;
      for (std::size_t i = 0; i < want.size(); ++i)
        ASSERT_EQ(rows[i], std::uint64_t{want[i].block} << 32 | want[i].row);
    }
  }
  window.stop();
}

TEST(RequestWindow, PlanningABatchIsNotWaitingForWork) {
  const auto blocks = std::make_shared<BlockTable>(std::vector<BlockTable::FileBlocks>{{100'000, 100}});
  FakeAllocator allocator(5000);
  RequestWindow window(cut(make_sequential(blocks), 5000), blocks, {.max_slots = 4}, allocator);
  window.start_epoch(0);
  Claim claim;
  ASSERT_TRUE(window.claim(claim));  // plans four batches first
  EXPECT_EQ(window.slots_planned(), 4u);
  EXPECT_EQ(claim.waited_ns, 0u);
  window.complete(claim, {});
  window.stop();
}

TEST(RequestWindow, WaitingForWorkIsTimed) {
  const auto blocks = std::make_shared<BlockTable>(std::vector<BlockTable::FileBlocks>{{40, 10}});
  FakeAllocator allocator(10);
  std::uint64_t waited_ns = 0;
  for (int i = 0; i < 100 && waited_ns == 0; ++i) {  // a thread that comes late has nothing to wait for
    RequestWindow window(cut(make_sequential(blocks), 10), blocks, {.max_slots = 1}, allocator);
    Claim claim;
    std::jthread thread([&] { EXPECT_TRUE(window.claim(claim)); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    window.start_epoch(0);
    thread.join();
    waited_ns = claim.waited_ns;
    window.complete(claim, {});
    window.stop();
  }
  EXPECT_GT(waited_ns, 0u);
  EXPECT_LT(waited_ns, std::uint64_t{600} * 1'000'000'000);  // a duration, not a time
}

TEST(RequestWindow, AConsumerThatWaitsPlansTheNextBatch) {
  const auto blocks = std::make_shared<BlockTable>(std::vector<BlockTable::FileBlocks>{{40, 10}});
  FakeAllocator allocator(10);
  RequestWindow window(cut(make_sequential(blocks), 10), blocks, {.max_slots = 1}, allocator);
  window.start_epoch(0);
  Claim claim;
  ASSERT_TRUE(window.claim(claim));
  std::jthread consumer([&] { EXPECT_TRUE(window.next().ok()); });
  for (int i = 0; i < 6000 && window.slots_planned() < 2; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(window.slots_planned(), 2u);  // with a batch in the only slot, and its thread busy: no other would
  window.complete(claim, {});
  consumer.join();
  ASSERT_TRUE(window.claim(claim));
  EXPECT_EQ(window.slots_planned(), 2u);
  EXPECT_EQ(claim.unit, 1u);
  window.complete(claim, {});
  window.stop();
}

TEST(RequestWindow, AClaimKnowsWhetherSomebodyWaitsForIt) {
  const auto blocks = std::make_shared<BlockTable>(std::vector<BlockTable::FileBlocks>{{200, 10}});
  for (const bool slow : {false, true}) {
    FakeAllocator allocator(10);
    RequestWindow window(cut(make_sequential(blocks), 10), blocks, {.max_slots = 8, .tells_ahead = true}, allocator);
    window.start_epoch(0);
    const auto work = [&](int milliseconds) {
      Claim claim;
      EXPECT_TRUE(window.claim(claim));
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
      window.complete(claim, {});
      return claim.ahead;
    };
    for (int i = 0; i < 4; ++i) EXPECT_FALSE(work(slow ? 0 : 10));  // nothing is known of the consumer
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(window.next().ok());
      if (slow) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    EXPECT_TRUE(window.next().ok());
    EXPECT_EQ(work(slow ? 0 : 10), slow);  // one batch is ready: 100 ms of the consumer's time, or none
    window.stop();
  }
}

TEST(RequestWindow, SpareTimeIsWhatNobodyWaitsFor) {
  const auto blocks = std::make_shared<BlockTable>(std::vector<BlockTable::FileBlocks>{{200, 10}});
  for (const bool slow : {false, true}) {
    FakeAllocator allocator(10);
    std::atomic<bool> spare = true;
    RequestWindow window(cut(make_sequential(blocks), 10), blocks,
                         {.max_slots = 8, .tells_ahead = true, .has_spare_work = &spare}, allocator);
    window.start_epoch(0);
    const auto work = [&] {
      Claim claim;
      EXPECT_TRUE(window.claim(claim));
      if (!slow) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      EXPECT_EQ(claim.kind == Claim::Kind::kSpare, claim.runs.empty());
      const Claim::Kind kind = claim.kind;
      window.complete(claim, {});
      return kind;
    };
    for (int i = 0; i < 8; ++i) EXPECT_EQ(work(), Claim::Kind::kUnit);  // first what batches need
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(window.next().ok());
      if (slow) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    EXPECT_TRUE(window.next().ok());
    for (int i = 0; i < 3; ++i) EXPECT_EQ(work(), Claim::Kind::kUnit);  // in the room of those
    for (int i = 0; slow && i < 2; ++i) EXPECT_EQ(work(), Claim::Kind::kSpare);
    spare = !slow;  // with a fast consumer it is not for spare work that the thread has nothing to do
    std::jthread idle([&] {
      Claim claim;
      EXPECT_FALSE(window.claim(claim));
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    window.stop();
  }
}

TEST(RequestWindow, EmptyDataEndsAtOnceAndStopWakesTheConsumer) {
  const auto blocks = std::make_shared<BlockTable>(std::vector<BlockTable::FileBlocks>{{0, 16}});
  FakeAllocator allocator(8);
  RequestWindow window(cut(make_sequential(blocks), 8), blocks, {.max_slots = 4}, allocator);
  window.start_epoch(0);
  auto got = window.next();
  ASSERT_TRUE(got.ok());
  EXPECT_FALSE(got->has_value());

  const auto some = std::make_shared<BlockTable>(std::vector<BlockTable::FileBlocks>{{64, 16}});
  RequestWindow stuck(cut(make_sequential(some), 8), some, {.max_slots = 4},
                      allocator);  // no decode threads
  stuck.start_epoch(0);
  EXPECT_FALSE(stuck.wait_head(std::chrono::milliseconds(5)));
  std::jthread stopper([&] { stuck.stop(); });
  const auto stopped = stuck.next();
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code(), ErrorCode::kClosed);
}

/// What enters the window takes memory without the lock, by the thread that plans: where that throws, no thread may
/// wait for it to come back.
TEST(RequestWindow, AnAllocatorThatThrowsEndsTheEpochAndTheNextOneIsWhole) {
  struct Throwing final : FakeAllocator {
    using FakeAllocator::FakeAllocator;
    std::atomic<int> left{1 << 30};
    Result<std::unique_ptr<SlotMemory>> acquire(const StepSizes& sizes, bool starving) override {
      if (left.fetch_sub(1) <= 0) throw std::bad_alloc();
      return FakeAllocator::acquire(sizes, starving);
    }
  };
  const auto blocks = std::make_shared<BlockTable>(std::vector<BlockTable::FileBlocks>{{640, 16}});
  const auto steps = cut(make_block_shuffle(blocks, BlockShuffleShape{4, 4}, 8), 50);
  for (const unsigned threads : {1u, 3u})
    for (const int good : {0, 1, 5}) {
      Throwing allocator(steps->most_rows());
      RequestWindow window(steps, blocks, {.max_slots = 4}, allocator);
      std::vector<std::jthread> workers;
      for (unsigned t = 0; t < threads; ++t)
        workers.emplace_back([&] {
          Claim claim;
          while (window.claim(claim)) window.complete(claim, {});
        });
      const auto rows_of = [&](std::uint64_t epoch) -> Result<std::uint64_t> {
        window.start_epoch(epoch);
        std::uint64_t rows = 0;
        for (;;) {
          HEADRACE_ASSIGN(const auto batch, window.next());
          if (!batch) return rows;
          rows += batch->rows;
        }
      };
      allocator.left = good;
      const auto failed = rows_of(0);
      ASSERT_FALSE(failed.ok());
      EXPECT_EQ(failed.error().code(), ErrorCode::kOutOfBudget);
      allocator.left = 1 << 30;
      EXPECT_EQ(rows_of(1).value(), 640u);
      window.stop();
    }
}

}  // namespace
}  // namespace headrace
