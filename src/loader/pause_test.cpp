// Loaders that do not fit beside each other take turns.
#include <gtest/gtest.h>
#include <headrace/loader.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "loader/engine/access.h"
#include "loader/engine/engine.h"
#include "loader/loader_impl.h"
#include "loader/testing/several_loaders.h"

namespace headrace {
namespace {

using namespace std::chrono_literals;
using testing::copy_of;
using testing::delivered;
using testing::kLargeBatches;
using testing::kSmallMemory;
using testing::large_rows;
using testing::Placed;
using testing::ProcessMemory;

TEST(Pause, LoadersThatDoNotFitTogetherTakeTurns) {
  const auto ignore = [] {};
  std::vector<Placed> want;
  {
    Loader alone(large_rows(4), kLargeBatches);
    want = delivered(alone, 2, ignore);
  }
  const ProcessMemory memory(kSmallMemory);
  Loader train(large_rows(4), kLargeBatches), val(large_rows(2), kLargeBatches);
  const std::vector<Placed> got = delivered(train, 2, [&] { EXPECT_EQ(delivered(val, 1, ignore).size(), 2u); });
  EXPECT_EQ(got, want);
  EXPECT_LE(MemoryBudget::process()->snapshot().used_bytes, kSmallMemory);
  EXPECT_EQ(train.notices().size(), 1u);
  EXPECT_NE(train.explain().find("  pauses"), std::string::npos) << train.explain();
  EXPECT_EQ(val.notices().size(), 0u);
  EXPECT_TRUE(train.report().exactly_once) << "the sums of an epoch are those of all its engines";
  EXPECT_GT(train.report().read_amplification, 1.05) << "what was decoded again counts as that";
}

TEST(Pause, LoadersThatAreIteratedInTurnDeliverABatchEachTime) {
  const ProcessMemory memory(kSmallMemory);
  Loader a(large_rows(4), kLargeBatches), b(large_rows(4), kLargeBatches);
  Loader::Epoch of_a = a.epoch(), of_b = b.epoch();
  for (int batch = 0; batch < 4; ++batch) {
    const std::optional<Batch> one = of_a.next(), other = of_b.next();
    ASSERT_TRUE(one && other);
    EXPECT_EQ(copy_of(*one), copy_of(*other));
  }
  EXPECT_FALSE(of_a.next());
  EXPECT_FALSE(of_b.next());
}

TEST(Pause, ThreadsTakeTurns) {
  const ProcessMemory memory(kSmallMemory);
  std::vector<std::jthread> threads;
  std::atomic<int> batches{0};
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      try {
        Loader loader(large_rows(4), kLargeBatches);
        for (int e = 0; e < 3; ++e)
          for (const Batch& batch : loader) batches += batch.rows() == 400;
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
    });
  threads.clear();
  EXPECT_EQ(batches, 3 * 3 * 4);
}

TEST(Pause, AStateThatIsLoadedMeanwhileIsWhereItGoesOn) {
  const auto ignore = [] {};
  const ProcessMemory memory(kSmallMemory);
  Loader train(large_rows(4), kLargeBatches), val(large_rows(2), kLargeBatches);
  const std::vector<Placed> want = delivered(train, 1, ignore);
  for (int taken = 1; taken < 5; ++taken) {
    train.set_epoch(0);
    Loader::Epoch epoch = train.epoch();
    (void)epoch.next();
    const std::string state = train.state();
    for (int batch = 1; batch < taken; ++batch) (void)epoch.next();
    for (const bool before : {true, false}) {  // the state is loaded, or the memory taken, first
      if (!before) train.load_state(state);
      (void)delivered(val, 1, ignore);
      if (before) train.load_state(state);
      for (std::size_t batch = 1; batch < 4; ++batch) EXPECT_EQ(copy_of(epoch.next().value()), want[batch].content);
    }
  }
}

TEST(Pause, AnEpochOfOtherRowsHasEnded) {
  const ProcessMemory memory(kSmallMemory);
  LoaderOptions options = kLargeBatches;
  options.order = InOrder{};
  std::vector<std::uint64_t> rows(1600);
  for (std::uint64_t r = 0; r < rows.size(); ++r) rows[r] = r;
  options.order = Listed{rows};
  Loader train(large_rows(4), options), val(large_rows(2), kLargeBatches);
  Loader::Epoch epoch = train.epoch();
  ASSERT_TRUE(epoch.next());
  (void)delivered(val, 1, [] {});
  rows.resize(900);
  train.set_rows(rows);
  try {
    (void)epoch.next();
    ADD_FAILURE() << "it went on with other rows";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kClosed);
  }
}

TEST(Pause, PreloadBeginsAnewWhereOthersTookItsMemory) {
  const ProcessMemory memory(3 * kSmallMemory);  // for the rows, or for the other's batches
  LoaderOptions options{.batch = Samples{32}, .threads = 1};
  options.cache.mode = CacheChoice::kRam;
  Loader kept(large_rows(4, 100us), options);
  std::jthread other([] {
    const LoaderOptions large{.batch = Samples{400}, .order = ExactShuffle{}, .threads = 1};
    Loader loader(large_rows(4), large);
    for (int epoch = 0; epoch < 5; ++epoch) EXPECT_EQ(delivered(loader, 1, [] {}).size(), 4u);
  });
  kept.preload([](std::uint64_t, std::uint64_t) { return true; });
  other.join();
  kept.preload([](std::uint64_t, std::uint64_t) { return true; });
  const std::uint64_t decoded = kept.report().chunks_decoded;
  EXPECT_EQ(delivered(kept, 1, [] {}).size(), kept.num_batches());
  EXPECT_EQ(kept.report().chunks_decoded, decoded);
}

/// An epoch that goes on is no idle one after preload() either: others let it go on.
TEST(Pause, PreloadInTheMiddleOfAnEpochLetsItGoOn) {
  const ProcessMemory memory(3 * kSmallMemory);
  LoaderOptions options{.batch = Samples{32}, .threads = 1};
  options.cache.mode = CacheChoice::kRam;
  Loader kept(large_rows(4), options);
  Loader::Epoch live = kept.epoch();
  std::uint64_t batches = 0;
  for (; batches < 5; ++batches) ASSERT_TRUE(live.next());
  kept.preload();
  EXPECT_EQ(impl_of(kept).manager->state(), EngineManager::State::kRunning);
  const LoaderOptions large{.batch = Samples{400}, .order = ExactShuffle{}, .threads = 1};
  Loader other(large_rows(4), large);
  EXPECT_EQ(delivered(other, 1, [] {}).size(), 4u);
  while (live.next()) ++batches;
  EXPECT_EQ(batches, kept.num_batches());
}

TEST(Pause, ALoaderThatKeepsItsRowsStartsBesideOthers) {
  const ProcessMemory memory(3 * kSmallMemory);
  const LoaderOptions large{.batch = Samples{400}, .order = ExactShuffle{}, .threads = 1};
  LoaderOptions keeps{.batch = Samples{32}, .threads = 1};
  keeps.cache.mode = CacheChoice::kRam;
  Loader train(large_rows(4), large), val(large_rows(4), keeps);
  for (int epoch = 0; epoch < 2; ++epoch) {
    Loader::Epoch live = train.epoch();
    ASSERT_TRUE(live.next());
    EXPECT_EQ(delivered(val, 1, [] {}).size(), val.num_batches());
    for (int batch = 1; batch < 4; ++batch) EXPECT_TRUE(live.next());
    EXPECT_EQ(delivered(val, 1, [] {}).size(), val.num_batches());  // beside an idle one
  }
}

}  // namespace
}  // namespace headrace
