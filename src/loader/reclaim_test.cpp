// A loader gives memory to others at any moment, and no batch changes: every kind of sample, every order.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <headrace/loader/loader.h>
#include <rapidcheck.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "base/memory_budget.h"
#include "dataset/testing/mapped_data.h"
#include "loader/access.h"
#include "loader/engine.h"
#include "loader/plan_for.h"

namespace headrace {
namespace {

using namespace std::chrono_literals;
using testing::Copy;
using testing::copy_of;
using testing::Events;
using testing::fake_dataset;
using testing::FakeFaults;
using testing::heavy_tailed;

/// Data of one kind, and what the kind can be loaded with.
struct Kind {
  Dataset data;
  LoaderOptions options;
};

std::shared_ptr<FakeFaults> slow(std::chrono::microseconds delay) {
  auto faults = std::make_shared<FakeFaults>();
  faults->delay = delay;
  return faults;
}

Kind rows(std::chrono::microseconds delay) {
  return {fake_dataset({700, 300}, {{40, 32}, {3000, 50}, {2, 512}}, slow(delay)), {.batch_size = 20}};
}

Kind windows(std::chrono::microseconds delay) {
  std::vector<SourceGroup> groups{testing::table_of({900, 700}, {{8, 50}}, slow(delay))};
  auto map = std::make_shared<SpanMap>(SpanMap::Options{.home_samples = 8,
                                                        .rows = groups[0].layout.table,
                                                        .row_weight = row_weight(1),
                                                        .spans = Spans::windows({{0, 1600}}, 5, 17)});
  return {Dataset(Dataset::Impl::make(make_mapped_source(map, nullptr, std::move(groups), "windows").value())),
          {.batch_size = 12}};
}

Kind events(std::chrono::microseconds delay) {
  const Events made(heavy_tailed(300, 1));
  made.faults->delay = delay;
  Kind kind{*made.data, {.batch_size = 16}};
  if (*rc::gen::arbitrary<bool>()) {
    kind.options.batch_size = 0;
    kind.options.by_tokens = ByTokens{.tokens = 300};
  }
  return kind;
}

Kind patches(std::chrono::microseconds) {
  const CellGrid grid{3, {20, 18, 16}, {5, 6, 4}, 4};
  std::vector<Axes> starts;
  for (std::uint64_t z = 0; z < 16; z += 3)
    for (std::uint64_t y = 0; y < 14; y += 2)
      for (std::uint64_t x = 0; x < 12; x += 5) starts.push_back({z, y, x});
  std::vector<SourceGroup> groups{testing::volume_of(0, grid)};
  auto map = testing::boxes_at({grid}, {4, 4, 4}, starts, 9);
  return {Dataset(Dataset::Impl::make(make_mapped_source(map, map, std::move(groups), "patches").value())),
          {.batch_size = 7}};
}

Kind any_kind() {
  const std::chrono::microseconds delay(*rc::gen::element(0, 0, 30, 200));
  constexpr std::array kKinds{&rows, &windows, &events, &patches};
  Kind kind = kKinds[*rc::gen::inRange<std::size_t>(0, kKinds.size())](delay);
  kind.options.shuffle = *rc::gen::element(Shuffle::kNone, Shuffle::kBlock, Shuffle::kExact);
  kind.options.seed = *rc::gen::inRange<std::uint64_t>(0, 100);
  kind.options.threads = *rc::gen::inRange<std::uint32_t>(1, 4);
  if (!kind.options.by_tokens) kind.options.tail = *rc::gen::element(Tail::kPartial, Tail::kDrop, Tail::kPad);
  if (*rc::gen::arbitrary<bool>()) kind.options.cache.mode = CacheChoice::kNone;
  if (*rc::gen::arbitrary<bool>()) kind.options.rank = 1, kind.options.world_size = 3;
  return kind;
}

/// What a batch is and where it stands.
struct Placed {
  std::uint64_t epoch, index;
  Copy content;
  friend bool operator==(const Placed&, const Placed&) = default;
};

/// \param between  Called after each batch.
template <class Between>
std::vector<Placed> delivered(Loader& loader, int epochs, Between between) {
  std::vector<Placed> all;
  for (int e = 0; e < epochs; ++e)
    for (const Batch& batch : loader) {
      all.push_back({batch.epoch(), batch.index(), copy_of(batch)});
      between();
    }
  return all;
}

/// Say where two runs begin to differ; empty: nowhere.
std::string difference(const std::vector<Placed>& got, const std::vector<Placed>& want) {
  for (std::size_t i = 0; i < std::min(got.size(), want.size()); ++i)
    if (got[i] != want[i])
      return fmt::format("batch {} is number {} of epoch {} and should be {} of {}; content {}", i, got[i].index,
                         got[i].epoch, want[i].index, want[i].epoch,
                         got[i].content == want[i].content ? "equal" : "differs");
  return got.size() == want.size() ? "" : fmt::format("{} batches, not {}", got.size(), want.size());
}

/// Asks all loaders of the process for memory, again and again, at random moments.
class Asking {
 public:
  explicit Asking(std::uint64_t seed)
      : thread_([this, seed](const std::stop_token& stop) {
          for (std::uint64_t n = seed * 977; !stop.stop_requested(); ++n) {
            const std::uint64_t r = n * 0x9E3779B97F4A7C15u >> 20;
            given_ += MemoryBudget::process()->reclaim(r % 7 == 0 ? ~std::uint64_t{0} : r % 200'000) > 0;
            std::this_thread::sleep_for(std::chrono::microseconds(r % 500));
          }
        }) {}
  [[nodiscard]] std::uint64_t given() const { return given_; }

 private:
  std::atomic<std::uint64_t> given_{0};
  std::jthread thread_;
};

TEST(Reclaim, AtRandomMomentsChangesNoBatchOfAnyKind) {
  std::uint64_t given = 0;
  EXPECT_TRUE(rc::check([&] {
    const Kind kind = any_kind();
    LoaderOptions options = kind.options;
    std::vector<Placed> want;
    {
      Loader easy(kind.data, options);
      want = delivered(easy, 2, [] {});
    }
    options.memory = smallest_budget(kind.data, options) * *rc::gen::inRange<std::uint64_t>(100, 1000) / 100;
    Loader hard(kind.data, options);
    const Asking asking(*rc::gen::inRange<std::uint64_t>(0, 1000));
    std::uint64_t batches = 0;
    std::string differs;
    try {
      differs = difference(delivered(hard, 2,
                                     [&] {
                                       if (++batches % 5 == 0) std::this_thread::sleep_for(200us);
                                       if (batches % 3 == 0) engine_of(hard)->take_back();
                                     }),
                           want);
    } catch (const Error& error) {
      differs = error.what();
    }
    if (!differs.empty()) std::fprintf(stderr, "DIFFERS: %s\n", differs.c_str());
    RC_ASSERT(differs.empty());
    given += asking.given();
  }));
  EXPECT_GT(given, 100u);
}

/// The process may use so much while it lives.
class ProcessMemory {
 public:
  explicit ProcessMemory(std::uint64_t bytes) { set_process_memory(bytes).value(); }
  ~ProcessMemory() { set_process_memory(before_).value(); }
  ProcessMemory(const ProcessMemory&) = delete;
  ProcessMemory& operator=(const ProcessMemory&) = delete;

 private:
  const std::uint64_t before_ = process_memory_wanted();
};

/// 6.4 MB of rows, of which a batch has 128 KB.
Dataset large_rows(std::uint64_t files, std::chrono::microseconds delay = 0us) {
  return fake_dataset(std::vector<std::uint64_t>(files, 400), {{1000, 40}}, slow(delay));
}
constexpr std::uint64_t kSmallMemory = 4'000'000;

std::uint64_t slots_bytes(const Loader& loader) {
  const std::shared_ptr<const Engine> engine = engine_of(loader);
  return engine->plan().slots * engine->plan().slot_bytes - engine->lent_bytes();
}

TEST(Reclaim, ASecondLoaderRunsInTheMiddleOfAnEpochAndTheFirstGoesOnWithAllItHad) {
  const ProcessMemory memory(kSmallMemory);
  const LoaderOptions options{.batch_size = 32, .shuffle = true, .threads = 2};
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
  const LoaderOptions options{.batch_size = 32, .shuffle = Shuffle::kExact, .threads = 1};
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
  Loader train(large_rows(4), {.batch_size = 32, .threads = 1});
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
  EXPECT_GE(kept_bytes(), before / 2);
}

TEST(Reclaim, AnEpochIsIdleOnceItsLastBatchWasHandedOutWhoeverHoldsIt) {
  const ProcessMemory memory(kSmallMemory);
  Loader train(large_rows(4), {.batch_size = 32, .shuffle = Shuffle::kExact, .threads = 2});
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

/// Two batches of it are most of the small memory.
const LoaderOptions kLargeBatches{.batch_size = 400, .shuffle = true, .threads = 1};

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
  options.shuffle = Shuffle::kNone;
  std::vector<std::uint64_t> rows(1600);
  for (std::uint64_t r = 0; r < rows.size(); ++r) rows[r] = r;
  options.sampler = std::make_shared<SamplerChoice>(Listed{rows});
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
  LoaderOptions options{.batch_size = 32, .threads = 1};
  options.cache.mode = CacheChoice::kRam;
  Loader kept(large_rows(4, 100us), options);
  std::jthread other([] {
    const LoaderOptions large{.batch_size = 400, .shuffle = Shuffle::kExact, .threads = 1};
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

TEST(Pause, ALoaderThatKeepsItsRowsStartsBesideOthers) {
  const ProcessMemory memory(3 * kSmallMemory);
  const LoaderOptions large{.batch_size = 400, .shuffle = Shuffle::kExact, .threads = 1};
  LoaderOptions keeps{.batch_size = 32, .threads = 1};
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

TEST(Reclaim, ALoaderHasAllThatAnIdleOneHadFromItsNextEpochOn) {
  const ProcessMemory memory(2 * kSmallMemory);
  const LoaderOptions options{.batch_size = 32, .shuffle = Shuffle::kExact, .threads = 1};
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
  LoaderOptions keeps{.batch_size = 32, .threads = 1};
  keeps.cache.mode = CacheChoice::kRam;
  Loader val(large_rows(4), keeps);
  (void)delivered(val, 1, [] {});
  const std::uint64_t decoded = val.report().chunks_decoded;
  Loader train(large_rows(8), {.batch_size = 32, .shuffle = Shuffle::kExact, .threads = 1});
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
  fed.shuffle = Shuffle::kNone;
  fed.sampler = std::make_shared<SamplerChoice>(OnlineSampler{1600});
  Loader train(large_rows(4), fed);
  Loader::Epoch epoch = train.epoch();
  train.feed(std::vector<std::uint64_t>(1600, 7));
  ASSERT_TRUE(epoch.next());
  try {
    Loader val(large_rows(2), {.batch_size = 400, .threads = 1});
    (void)val.epoch();
    ADD_FAILURE() << "there was room";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOutOfBudget);
    EXPECT_NE(std::string(error.what()).find("loader of fake_0"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(epoch.next());
}

TEST(Reclaim, DoesNotWaitForReadsThatHangAndTheMemoryFollowsWhenTheyEnd) {
  Loader train(large_rows(10, 30ms), {.batch_size = 32, .shuffle = true, .memory = kSmallMemory, .threads = 2});
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
    Loader train(large_rows(4, 500us), {.batch_size = 32, .shuffle = true, .memory = kSmallMemory, .threads = 3});
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
  Loader train(large_rows(4), {.batch_size = 32, .shuffle = true, .memory = kSmallMemory, .threads = 2});
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
