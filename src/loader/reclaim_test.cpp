// Loaders that run or are idle give memory to others, and take it again.
#include <gtest/gtest.h>
#include <headrace/loader.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "loader/engine/access.h"
#include "loader/engine/engine.h"
#include "loader/testing/several_loaders.h"

namespace headrace {
namespace {

using namespace std::chrono_literals;
using testing::Asking;
using testing::delivered;
using testing::kLargeBatches;
using testing::kSmallMemory;
using testing::large_rows;
using testing::Placed;
using testing::ProcessMemory;

std::uint64_t slots_bytes(const Loader& loader) {
  const std::shared_ptr<const Engine> engine = engine_of(loader);
  return engine->plan().slots * engine->plan().slot_bytes - engine->lent_bytes();
}

TEST(Reclaim, ASecondLoaderRunsInTheMiddleOfAnEpochAndTheFirstGoesOnWithAllItHad) {
  const ProcessMemory memory(kSmallMemory);
  const LoaderOptions options{.batch = Samples{32}, .order = BlockShuffle{}, .threads = 2};
  const auto ignore = [] {};
  Loader alone(large_rows(4), options);
  const std::vector<Placed> want = delivered(alone, 2, ignore);
  alone.close();
  Loader train(large_rows(4), options), val(large_rows(2), options);
  const std::uint64_t val_batches = val.num_batches();
  std::uint64_t batches = 0, lent = 0, whole = 0;
  const std::vector<Placed> got = delivered(train, 2, [&] {
    if (++batches % 13 == 0) {
      EXPECT_EQ(delivered(val, 1, ignore).size(), val_batches);
      lent += engine_of(train)->lent_bytes() > 0;
      EXPECT_EQ(lent > 0, train.explain().find("  lent") != std::string::npos);
    }
    whole += engine_of(train)->lent_bytes() == 0;
  });
  EXPECT_EQ(got, want);
  EXPECT_GT(lent, 0u);
  EXPECT_GT(whole, batches / 8);
  EXPECT_LE(MemoryBudget::process()->snapshot().used_bytes, kSmallMemory);
}

TEST(Reclaim, LoadersThatAreIteratedInTurnHaveEqualParts) {
  const ProcessMemory memory(2 * kSmallMemory);
  const LoaderOptions options{.batch = Samples{32}, .order = ExactShuffle{}, .threads = 1};
  std::vector<Loader> loaders;
  std::vector<Loader::Epoch> epochs;
  for (int l = 0; l < 3; ++l) {
    loaders.emplace_back(large_rows(4), options);
    epochs.push_back(loaders.back().epoch());
    ASSERT_TRUE(epochs.back().next());
  }
  for (const Loader& loader : loaders) EXPECT_GT(slots_bytes(loader), kSmallMemory / 20) << loader.explain();
  for (std::uint64_t b = 1; b < loaders[0].num_batches(); ++b)
    for (Loader::Epoch& epoch : epochs) ASSERT_TRUE(epoch.next());
  for (Loader::Epoch& epoch : epochs) EXPECT_FALSE(epoch.next());
}

TEST(Reclaim, ACacheThatGaveItsBlocksKeepsThemAgain) {
  const ProcessMemory memory(2 * kSmallMemory);
  const auto ignore = [] {};
  Loader train(large_rows(4), {.batch = Samples{32}, .threads = 1});
  const auto kept_bytes = [&] {  // a few blocks are kept at a time
    (void)delivered(train, 8, ignore);
    return train.report().cache.bytes;
  };
  const std::uint64_t before = kept_bytes();
  ASSERT_GT(before, 0u) << "nothing is kept: " << train.explain();
  std::uint64_t batches = 0;
  (void)delivered(train, 1, [&] {
    if (++batches != 25) return;
    EXPECT_GT(MemoryBudget::process()->reclaim(~std::uint64_t{0}, {ReclaimRank::kCache, ReclaimRank::kCache}), 0u);
    EXPECT_EQ(engine_of(train)->lent_bytes(), 0u);
    EXPECT_TRUE(engine_of(train)->has_given());
  });
  std::uint64_t after = 0;  // they are kept in time that no consumer waits for, of which a busy machine has little
  for (int tries = 0; tries < 20 && after < before / 2; ++tries) after = kept_bytes();
  EXPECT_GE(after, before / 2);
}

TEST(Reclaim, AnEpochIsIdleOnceItsLastBatchWasHandedOutWhoeverHoldsIt) {
  const ProcessMemory memory(kSmallMemory);
  Loader train(large_rows(4), {.batch = Samples{32}, .order = ExactShuffle{}, .threads = 2});
  Loader::Epoch epoch = train.epoch();
  for (std::uint64_t b = 0; b < train.num_batches(); ++b) ASSERT_TRUE(epoch.next());
  const std::string end = train.state();
  EXPECT_GT(MemoryBudget::process()->reclaim(~std::uint64_t{0}, {ReclaimRank::kIdle, ReclaimRank::kIdle}), 0u);
  EXPECT_EQ(MemoryBudget::process()->snapshot().used_bytes, 0u);
  EXPECT_EQ(train.state(), end);
  EXPECT_TRUE(epoch.wait(1h));
  EXPECT_FALSE(epoch.next());
  EXPECT_EQ(train.state(), end);
  EXPECT_TRUE(train.epoch().next());
}

TEST(Reclaim, ALoaderHasAllThatAnIdleOneHadFromItsNextEpochOn) {
  const ProcessMemory memory(2 * kSmallMemory);
  const LoaderOptions options{.batch = Samples{32}, .order = ExactShuffle{}, .threads = 1};
  std::uint64_t alone = 0;
  {
    Loader train(large_rows(4), options);
    (void)train.epoch();
    alone = slots_bytes(train);
  }
  Loader train(large_rows(4), options), val(large_rows(4), options);
  {  // as a sanity check does: a few batches, and the iterator stays
    Loader::Epoch few = val.epoch();
    ASSERT_TRUE(few.next());
    ASSERT_EQ(delivered(train, 1, [] {}).size(), train.num_batches());
    EXPECT_LT(slots_bytes(train), alone);
    while (few.next()) continue;
  }
  ASSERT_EQ(delivered(train, 1, [] {}).size(), train.num_batches());
  EXPECT_GE(slots_bytes(train), alone / 10 * 9) << train.explain();
}

TEST(Reclaim, AnIdleLoaderKeepsItsRowsWhereOthersCanDoWithoutThem) {
  const ProcessMemory memory(3 * kSmallMemory);
  LoaderOptions keeps{.batch = Samples{32}, .threads = 1};
  keeps.cache.mode = CacheChoice::kRam;
  Loader val(large_rows(4), keeps);
  (void)delivered(val, 1, [] {});
  const std::uint64_t decoded = val.report().chunks_decoded;
  Loader train(large_rows(8), {.batch = Samples{32}, .order = ExactShuffle{}, .threads = 1});
  for (int epoch = 0; epoch < 2; ++epoch) {
    EXPECT_EQ(delivered(train, 1, [] {}).size(), train.num_batches());
    EXPECT_FALSE(val.holds_memory()) << "its window is the other's";
    EXPECT_EQ(delivered(val, 1, [] {}).size(), val.num_batches());
  }
  EXPECT_EQ(val.report().chunks_decoded, decoded);
}

TEST(Reclaim, WhatCannotFitIsRefusedWithTheNamesOfThoseThatHoldTheMemory) {
  const ProcessMemory memory(kSmallMemory);
  LoaderOptions fed = kLargeBatches;  // cannot begin anew in the middle of an epoch
  fed.order = InOrder{};
  fed.order = OnlineSampler{1600};
  Loader train(large_rows(4), fed);
  Loader::Epoch epoch = train.epoch();
  train.feed(std::vector<std::uint64_t>(1600, 7));
  ASSERT_TRUE(epoch.next());
  try {
    Loader val(large_rows(2), {.batch = Samples{400}, .threads = 1});
    (void)val.epoch();
    ADD_FAILURE() << "there was room";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOutOfBudget);
    EXPECT_NE(std::string(error.what()).find("loader of fake_0"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(epoch.next());
}

TEST(Reclaim, ARefusalCountsOnTheSlotsOfALoaderThatCannotBeginAnew) {
  const ProcessMemory memory(kSmallMemory);
  LoaderOptions fed{.batch = Samples{32}, .threads = 1};
  fed.order = OnlineSampler{1600};
  Loader train(large_rows(4), fed);
  Loader::Epoch epoch = train.epoch();
  train.feed(std::vector<std::uint64_t>(1600, 7));
  ASSERT_TRUE(epoch.next());
  const std::uint64_t held = MemoryBudget::process()->snapshot().used_bytes;
  const std::uint64_t could = engine_of(train)->could_give();
  ASSERT_GT(could, kSmallMemory / 4);
  try {
    Loader val(large_rows(2), kLargeBatches);
    (void)val.epoch();
    ADD_FAILURE() << "there was room";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOutOfBudget);
    EXPECT_LE(error.needed_bytes(), held - could + kSmallMemory);
  }
}

TEST(Reclaim, DoesNotWaitForReadsThatHangAndTheMemoryFollowsWhenTheyEnd) {
  Loader train(large_rows(10, 30ms),
               {.batch = Samples{32}, .order = BlockShuffle{}, .memory = kSmallMemory, .threads = 2});
  Loader::Epoch epoch = train.epoch();
  std::this_thread::sleep_for(10ms);  // the threads are in their first reads
  const std::shared_ptr<Engine> engine = engine_of(train);
  const std::uint64_t before = MemoryBudget::process()->snapshot().used_bytes, could = engine->could_give();
  EXPECT_LT(engine->give(could, 1ms), could);
  for (int tries = 0; tries < 2000 && before - MemoryBudget::process()->snapshot().used_bytes < could; ++tries)
    std::this_thread::sleep_for(1ms);
  EXPECT_GE(before - MemoryBudget::process()->snapshot().used_bytes, could);
  EXPECT_TRUE(epoch.next());
}

TEST(Reclaim, ALoaderThatIsClosedWhileItGivesEndsBothCalls) {
  for (int round = 0; round < 20; ++round) {
    Loader train(large_rows(4, 500us),
                 {.batch = Samples{32}, .order = BlockShuffle{}, .memory = kSmallMemory, .threads = 3});
    Loader::Epoch epoch = train.epoch();
    ASSERT_TRUE(epoch.next());
    const Asking asking(static_cast<std::uint64_t>(round));
    std::jthread closing([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(300 * round));
      train.close();
    });
    try {
      while (epoch.next()) continue;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kClosed);
    }
  }
  EXPECT_EQ(MemoryBudget::process()->snapshot().used_bytes, 0u);
}

TEST(Reclaim, AForkedChildAsksNobody) {
  Loader train(large_rows(4), {.batch = Samples{32}, .order = BlockShuffle{}, .memory = kSmallMemory, .threads = 2});
  Loader::Epoch epoch = train.epoch();
  ASSERT_TRUE(epoch.next());
  const pid_t child = ::fork();
  if (child == 0) {
    const std::uint64_t given = MemoryBudget::process()->reclaim(~std::uint64_t{0});
    ::_exit(given == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  while (epoch.next()) continue;
}

}  // namespace
}  // namespace headrace
