#include <headrace/loader.h>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "dataset/testing/fake_source.h"

namespace headrace {
namespace {

using namespace std::chrono_literals;
using testing::fake_dataset;
using testing::fake_value;
using testing::FakeFaults;
using testing::FakeShape;

/// Row of the data set that sample i of a batch is, checked over all fields and elements.
std::uint64_t row_of(const Batch& batch, std::uint64_t i, std::uint64_t rows) {
  const auto first = batch.array(0).as<std::uint32_t>();
  const std::uint64_t width = batch.fields()[0].dims.extents()[0];
  const std::uint64_t row = first[i * width] / 1009;
  EXPECT_LT(row, rows);
  for (std::uint32_t a = 0; a < batch.fields().size(); ++a) {
    const auto values = batch.array(a).as<std::uint32_t>();
    const std::uint64_t w = batch.fields()[a].dims.extents()[0];
    for (std::uint64_t j = 0; j < w; ++j)
      if (values[i * w + j] != fake_value(a, row, j))
        ADD_FAILURE() << "field " << a << " row " << row << " element " << j;
  }
  return row;
}

std::vector<std::vector<std::uint64_t>> delivered_rows(Loader& loader, int epochs) {
  std::vector<std::vector<std::uint64_t>> all;
  for (int e = 0; e < epochs; ++e)
    for (const Batch& batch : loader) {
      auto& rows = all.emplace_back();
      for (std::uint64_t i = 0; i < batch.rows(); ++i) rows.push_back(row_of(batch, i, loader.dataset().size()));
    }
  return all;
}

std::uint64_t least_budget(const Dataset& data, LoaderOptions options) {
  options.memory = 1;
  try {
    const Loader loader(data, options);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kOutOfBudget);
    if (e.needed_bytes() > 0) return e.needed_bytes();
  }
  ADD_FAILURE() << "no smallest budget was named";
  return 0;
}

TEST(Loader, SameBatchesForAnyThreadsAndBudgetDownToTheSmallest) {
  EXPECT_TRUE(rc::check([] {
    std::vector<std::uint64_t> files;
    for (int n = *rc::gen::inRange(1, 4); n > 0; --n) files.push_back(*rc::gen::inRange<std::uint64_t>(1, 300));
    const auto chunk = [] { return *rc::gen::element<std::uint64_t>(1, 7, 16, 24, 64, 1000); };
    const Dataset data = fake_dataset(files, {{40, chunk()}, {3, chunk()}, {2000, chunk()}});
    LoaderOptions options;
    options.batch = Samples{*rc::gen::inRange<std::uint64_t>(1, 120)};
    options.order = *rc::gen::element<Order>(InOrder{}, BlockShuffle{}, ExactShuffle{});
    options.seed = *rc::gen::inRange<std::uint64_t>(0, 100);
    std::vector<std::vector<std::uint64_t>> want;
    options.threads = 1;
    {
      Loader loader(data, options);
      want = delivered_rows(loader, 2);
      std::vector<std::uint64_t> sorted;
      for (const auto& b : want) sorted.insert(sorted.end(), b.begin(), b.end());
      std::sort(sorted.begin(), sorted.end());
      RC_ASSERT(sorted.size() == 2 * data.size());
      for (std::uint64_t i = 0; i < sorted.size(); ++i) RC_ASSERT(sorted[i] == i / 2);
      RC_ASSERT(want.size() == 2 * loader.num_batches());
    }
    options.threads = *rc::gen::inRange<std::uint32_t>(1, 5);
    const std::uint64_t least = least_budget(data, options);
    options.memory = least + *rc::gen::inRange<std::uint64_t>(0, least * 4);
    Loader loader(data, options);
    RC_ASSERT(delivered_rows(loader, 2) == want);
    const Report report = loader.report();
    RC_ASSERT(report.memory.peak_bytes <= report.memory.budget_bytes);
    RC_ASSERT(report.samples == 2 * data.size());
  }));
}

TEST(Loader, ChunksOfAFileMayDifferInLength) {
  EXPECT_TRUE(rc::check([] {
    std::vector<std::vector<std::uint64_t>> ends(*rc::gen::inRange<std::size_t>(1, 4));
    for (auto& file : ends)
      for (int n = *rc::gen::inRange(1, 12); n > 0; --n)
        file.push_back((file.empty() ? 0 : file.back()) + *rc::gen::inRange<std::uint64_t>(1, 60));
    const Dataset data = testing::fake_row_groups(ends);
    RC_ASSERT(impl_of(data)->blocks->num_blocks() == [&] {
      std::size_t blocks = 0;
      for (const auto& file : ends) blocks += file.size();
      return blocks;
    }());
    for (const FileLayout& file : impl_of(data)->layout.files)
      RC_ASSERT(file.roles == (std::vector{ArrayRole::kAligned, ArrayRole::kStraddling}));
    LoaderOptions options{
        .batch = Samples{*rc::gen::inRange<std::uint64_t>(1, 40)}, .order = BlockShuffle{}, .threads = 2};
    options.order = BlockShuffle{*rc::gen::element(ShuffleShape{}, ShuffleShape{3, 2, 0}, ShuffleShape{48, 1, 0})};
    options.cache.mode = *rc::gen::element(CacheChoice::kNone, CacheChoice::kRam);
    Loader loader(data, options);
    for (int epoch = 0; epoch < 2; ++epoch) {
      std::set<std::uint64_t> seen;
      for (const Batch& batch : loader)
        for (std::uint64_t i = 0; i < batch.rows(); ++i) {
          const std::uint64_t row = batch["a0"].as<std::uint32_t>()[3 * i] / 1009;
          for (std::uint64_t j = 0; j < 3; ++j)
            RC_ASSERT(batch["a0"].as<std::uint32_t>()[3 * i + j] == testing::fake_value(0, row, j));
          RC_ASSERT(batch["a1"].as<std::uint32_t>()[i] == testing::fake_value(1, row, 0));
          RC_ASSERT(seen.insert(row).second);
        }
      RC_ASSERT(seen.size() == data.size());
    }
  }));
}

TEST(Loader, DecodesEveryChunkOnceWhenMemoryAllowsAndSaysSo) {
  auto faults = std::make_shared<FakeFaults>();
  const Dataset data = fake_dataset({1024, 1024}, {{100, 32}, {2000, 32}}, faults);
  LoaderOptions options{.batch = Samples{64}, .order = BlockShuffle{}, .threads = 2};
  options.cache.mode = CacheChoice::kNone;  // else what is read ahead of the next epoch comes from memory
  for (const ShuffleShape& shape : {ShuffleShape{}, ShuffleShape{16, 1, 0}, ShuffleShape{4, 4, 0}}) {
    options.order = BlockShuffle{shape};
    faults->decodes = 0;
    Loader loader(data, options);
    delivered_rows(loader, 1);
    loader.close();
    EXPECT_GE(faults->decodes, 128u);
    EXPECT_DOUBLE_EQ(loader.report().read_amplification, 1.0);
    EXPECT_NE(loader.report().text().find("read amplification 1.000"), std::string::npos);
  }
}

TEST(Loader, WhatComesFromMemoryCountsAsNeededInEveryTier) {
  ::setenv("HEADRACE_KEEP_SHARE", "inf", 1);  // all of it in the first epoch
  const Dataset data = fake_dataset({1024, 1024}, {{100, 32}, {40, 512}});
  const auto amplification = [&](CacheChoice::Mode mode, int epochs) {
    LoaderOptions options{.batch = Samples{8}, .order = BlockShuffle{}, .threads = 2};
    options.cache.mode = mode;
    Loader loader(data, options);
    delivered_rows(loader, epochs);
    loader.close();
    return loader.report().read_amplification;
  };
  for (const CacheChoice::Mode mode : {CacheChoice::kRam, CacheChoice::kAuto}) {
    // After the last epoch asked for, the window runs ahead into the next, by at most the whole of it. Blocks that are
    // claimed after the first batches of their epoch came from memory count beside these: a few of the 64.
    const double few = 0.9, first = amplification(mode, 1);
    EXPECT_GE(first, few / 2);
    EXPECT_LE(first, 1.0);
    for (int i = 0; i < 10; ++i) {  // where in an epoch the rows begin to come from memory depends on the threads
      const double tenth = amplification(mode, 10);
      EXPECT_GE(tenth, few / 11);
      EXPECT_LE(tenth, 1.0 / 10);
    }
  }
  // No block is decoded again for the turn of an epoch: the window reaches over it.
  EXPECT_DOUBLE_EQ(amplification(CacheChoice::kNone, 10), 1.0);
  ::unsetenv("HEADRACE_KEEP_SHARE");
}

TEST(Loader, ResumedEpochsFromMemoryCountForWhatIsLeftOfThem) {
  const Dataset data = fake_dataset({1024, 1024}, {{100, 32}, {40, 512}});
  LoaderOptions options{.batch = Samples{8}, .order = BlockShuffle{}, .threads = 2};
  options.cache.mode = CacheChoice::kRam;
  Loader loader(data, options);
  loader.preload();
  Loader::Epoch first = loader.epoch();
  for (int batch = 0; batch < 128; ++batch) ASSERT_TRUE(first.next());
  const std::string half = loader.state(), place = "\"epoch\":0";
  ASSERT_NE(half.find(place), std::string::npos);
  for (int i = 0; i < 10; ++i) {
    std::string state = half;
    state.replace(half.find(place), place.size(), "\"epoch\":" + std::to_string(2 * i + 1));
    loader.load_state(state);
    delivered_rows(loader, 1);
  }
  loader.close();
  // One decode of all was needed, and ten halves of one; beside them what ran ahead into the next epoch each time.
  EXPECT_LE(loader.report().read_amplification, 1 / 6.0);
  EXPECT_GE(loader.report().read_amplification, 1 / 8.0);
}

TEST(Loader, PeaksAreMeasuredNotCopiedFromThePlan) {
  const Dataset data = fake_dataset({1024, 1024}, {{3000, 100}, {2, 512}});
  LoaderOptions options{.batch = Samples{64}, .order = BlockShuffle{}, .threads = 3};
  options.cache.mode = CacheChoice::kNone;
  Loader loader(data, options);
  Report::Memory memory = loader.report().memory;
  EXPECT_GT(memory.scratch_bytes, 0u);
  EXPECT_EQ(memory.peak_bytes, 0u);  // nothing is allocated yet
  delivered_rows(loader, 1);
  memory = loader.report().memory;
  EXPECT_GT(memory.peak_scratch_bytes, 0u);
  EXPECT_LE(memory.peak_scratch_bytes, memory.scratch_bytes);
  EXPECT_EQ(memory.peak_read_buffer_bytes, 0u);  // the data is in no file, whatever was planned for reading
  // 2048 rows of 8 bytes are kept decoded beside the blocks, in four chunks of a page each.
  EXPECT_EQ(memory.peak_resident_bytes, 4 * 4096u);
  EXPECT_EQ(memory.peak_bytes,
            memory.peak_slot_bytes + memory.peak_scratch_bytes + memory.peak_resident_bytes + memory.index_bytes);
  EXPECT_LE(memory.peak_bytes, memory.planned_bytes);
}

TEST(Loader, TheSmallestBudgetIsExact) {
  const Dataset data = fake_dataset({500}, {{5000, 50}});
  const LoaderOptions options{.batch = Samples{100}, .order = BlockShuffle{}};
  const std::uint64_t least = least_budget(data, options);
  LoaderOptions tight = options;
  tight.memory = least - 1;
  EXPECT_THROW(Loader(data, tight), Error);
  tight.memory = least;
  Loader loader(data, tight);
  EXPECT_EQ(delivered_rows(loader, 1).size(), 5u);
}

TEST(Loader, ABadChunkIsRaisedAtTheFirstBatchThatHoldsIt) {
  const Dataset good = fake_dataset({600}, {{300, 20}, {10, 20}});
  LoaderOptions options{.batch = Samples{32}, .order = BlockShuffle{{2, 2, 0}}, .seed = 3};
  Loader reference(good, options);
  const auto batches = delivered_rows(reference, 1);
  const auto in_bad_chunk = [](std::uint64_t row) { return row / 20 == 17; };
  std::size_t first_bad = 0;
  while (std::none_of(batches[first_bad].begin(), batches[first_bad].end(), in_bad_chunk)) ++first_bad;
  for (std::uint32_t threads : {1u, 2u, 4u})
    for (bool tight : {false, true}) {
      auto faults = std::make_shared<FakeFaults>();
      faults->bad_rows = {345};
      const Dataset bad = fake_dataset({600}, {{300, 20}, {10, 20}}, faults);
      options.threads = threads;
      options.memory = tight ? least_budget(bad, options) : 0;
      Loader loader(bad, options);
      auto epoch = loader.epoch();
      for (std::size_t i = 0; i < first_bad; ++i) ASSERT_TRUE(epoch.next().has_value());
      try {
        (void)epoch.next();
        FAIL() << "the bad chunk was delivered";
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::kCorruptData);
        EXPECT_EQ(e.file(), "fake");
      }
      faults->mended = true;  // the next epoch is whole
      EXPECT_EQ(delivered_rows(loader, 1).size(), loader.num_batches());
    }
}

TEST(Loader, KeptBatchesNeverStallItAndStayAsTheyWere) {
  const Dataset data = fake_dataset({2000}, {{5000, 50}});
  LoaderOptions options{.batch = Samples{40}, .order = BlockShuffle{}, .seed = 1, .threads = 2};
  options.memory = least_budget(data, options) * 2;
  std::vector<Batch> kept;
  {
    Loader loader(data, options);
    for (const Batch& b : loader) kept.push_back(b);
    EXPECT_GT(loader.report().memory.held_over_bytes, 40u * 800'000);
  }
  std::set<std::uint64_t> rows;  // the loader is gone, the batches are not
  for (const Batch& b : kept)
    for (std::uint64_t i = 0; i < b.rows(); ++i) rows.insert(row_of(b, i, 2000));
  EXPECT_EQ(rows.size(), 2000u);
}

TEST(Loader, EpochsFollowEachOtherAndCanBeNamed) {
  const Dataset data = fake_dataset({300}, {{4, 20}});
  Loader loader(data, {.batch = Samples{16}, .order = BlockShuffle{}});
  const auto epoch_rows = [&](Loader& l) { return delivered_rows(l, 1); };
  const auto e0 = epoch_rows(loader), e1 = epoch_rows(loader);
  EXPECT_NE(e0, e1);
  loader.set_epoch(1);
  loader.set_epoch(1);
  EXPECT_EQ(epoch_rows(loader), e1);
  EXPECT_EQ(loader.next_epoch(), 2u);
  loader.set_epoch(0);
  {
    auto broken = loader.epoch();
    for (int i = 0; i < 3; ++i) (void)broken.next();
  }
  EXPECT_EQ(epoch_rows(loader), e1);  // after a break comes the next epoch
}

TEST(Loader, ANewEpochEndsTheOldOneAndCloseEndsAll) {
  const Dataset data = fake_dataset({300}, {{4, 20}});
  Loader loader(data, {.batch = Samples{16}});
  auto first = loader.epoch();
  (void)first.next();
  auto second = loader.epoch();
  EXPECT_THROW((void)first.next(), Error);
  EXPECT_TRUE(second.next().has_value());
  loader.close();
  loader.close();
  try {
    (void)second.next();
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kClosed);
  }
  EXPECT_THROW((void)loader.epoch(), Error);
  EXPECT_GT(loader.report().batches, 0u);
}

TEST(Loader, TailsAndLengthsAreExact) {
  const Dataset data = fake_dataset({103}, {{4, 20}});
  for (const Order& shuffle : {Order(InOrder{}), Order(BlockShuffle{})}) {
    Loader partial(data, {.batch = Samples{10}, .order = shuffle});
    EXPECT_EQ(partial.num_batches(), 11u);
    const auto batches = delivered_rows(partial, 2);
    EXPECT_EQ(batches.size(), 22u);
    EXPECT_EQ(batches[10].size(), 3u);
    Loader drop(data, {.batch = Samples{10, Tail::kDrop}, .order = shuffle});
    EXPECT_EQ(drop.num_batches(), 10u);
    EXPECT_EQ(delivered_rows(drop, 3).size(), 30u);
  }
  Loader whole(data, {.batch = Samples{1000}});
  EXPECT_EQ(delivered_rows(whole, 1)[0].size(), 103u);
}

TEST(Loader, ContradictionsAreRefused) {
  const Dataset data = fake_dataset({10}, {{4, 5}});
  EXPECT_THROW(Loader(data, {.batch = Samples{0}}), Error);
  EXPECT_THROW(Loader(data, {.batch = Samples{11, Tail::kDrop}}), Error);
  Dataset closed = fake_dataset({10}, {{4, 5}});
  closed.close();
  EXPECT_THROW(Loader(closed, {.batch = Samples{1}}), Error);
}

TEST(Loader, ATimeoutIsAnErrorAndCanBeWaitedOutAfterwards) {
  auto faults = std::make_shared<FakeFaults>();
  faults->delay = 300ms;
  const Dataset data = fake_dataset({10}, {{4, 5}}, faults);
  Loader loader(data, {.batch = Samples{10}, .threads = 1, .timeout = 20ms});
  auto epoch = loader.epoch();
  try {
    (void)epoch.next();
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kTimeout);
  }
  while (!epoch.wait(100ms)) {
  }
  EXPECT_EQ(epoch.next()->rows(), 10u);
}

TEST(Loader, AbandonedAtAnyMomentItStopsCleanly) {
  auto faults = std::make_shared<FakeFaults>();
  faults->delay = 200us;
  const Dataset data = fake_dataset({1000}, {{40, 10}, {4, 10}}, faults);
  for (int i = 0; i < 40; ++i) {
    Loader loader(data, {.batch = Samples{20}, .order = BlockShuffle{}, .threads = 3});
    auto epoch = loader.epoch();
    for (int b = 0; b < i % 7; ++b) (void)epoch.next();
    if (i % 3 == 0) loader.set_epoch(static_cast<std::uint64_t>(i));
    if (i % 2 == 0) (void)loader.epoch().next();
  }
}

#if !defined(__SANITIZE_THREAD__)  // TSan does not support threads after a fork
TEST(Loader, AForkedChildGetsAnErrorAndTheParentGoesOn) {
  const Dataset data = fake_dataset({300}, {{4, 20}});
  Loader loader(data, {.batch = Samples{16}, .threads = 2});
  auto epoch = loader.epoch();
  std::optional<Batch> held = epoch.next();
  const pid_t child = ::fork();
  if (child == 0) {
    int status = 1;
    try {
      (void)epoch.next();
    } catch (const Error& e) {
      status = e.code() == ErrorCode::kForked ? 0 : 2;
    }
    held.reset();
    loader.close();
    ::_exit(status);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  std::size_t batches = 1;
  while (epoch.next()) ++batches;
  EXPECT_EQ(batches, loader.num_batches());
}
#endif

TEST(Loader, SideFieldsAreKeptOrCrossedWithoutChangingABatch) {
  const Dataset data = fake_dataset({900, 333}, {{3000, 100}, {700, 128}, {2, 512}});
  LoaderOptions options{.batch = Samples{64}, .order = BlockShuffle{}};
  Loader roomy(data, options);
  EXPECT_NE(roomy.explain().find("kept in memory"), std::string::npos);
  options.memory = least_budget(data, options) + 500'000;
  Loader tight(data, options);
  EXPECT_EQ(delivered_rows(roomy, 1), delivered_rows(tight, 1));
  EXPECT_GT(tight.report().read_amplification, 1.0);
}

TEST(Loader, InFileOrderAChunkThatCrossesManyBlocksIsDecodedOnce) {
  // Blocks of 128 rows (1 MiB); the side array's chunks of 4096 rows would make blocks of 34 MB, and all its 2 MiB are
  // more than an eighth of the budget, so they are not kept in memory.
  const Dataset data = fake_dataset({16384}, {{2048, 128}, {32, 4096}});
  Loader loader(data, {.batch = Samples{128}, .memory = 14 << 20, .threads = 2});
  EXPECT_NE(loader.explain().find("cross the blocks"), std::string::npos) << loader.explain();
  EXPECT_EQ(delivered_rows(loader, 1).size(), 128u);
  EXPECT_LE(loader.report().read_amplification, 1.02);  // 1.5 if each block decoded it again
}

TEST(Dataset, SlicesTakesAndChoosesRows) {
  const Dataset data = fake_dataset({100, 57}, {{4, 20}, {2, 1}});
  const Batch slice = data.slice(90, 30);
  for (std::uint64_t i = 0; i < 30; ++i) EXPECT_EQ(row_of(slice, i, 157), 90 + i);
  const std::vector<std::uint64_t> rows{7, 3, 3, 156};
  const Batch taken = data.take(rows);
  for (std::uint64_t i = 0; i < rows.size(); ++i) EXPECT_EQ(row_of(taken, i, 157), rows[i]);
  const std::vector<std::string> names{"a1"};
  EXPECT_EQ(data.choose(names).slice(5, 1)["a1"].as<std::uint32_t>()[0], fake_value(1, 5, 0));
  EXPECT_THROW((void)data.slice(150, 8), Error);
  EXPECT_EQ(data.slice(157, 0).rows(), 0u);
}

TEST(Loader, KeptSideArraysTakeTheirRowsHoweverTheyAreCut) {
  // Labels in chunks of three rows beside wide rows, whose blocks would not grow by a factor of three.
  constexpr std::uint64_t kRows = 24576;
  const auto faults = std::make_shared<FakeFaults>();
  faults->bad_rows = {3001};
  faults->bad_array = 1;
  const Dataset data = fake_dataset({kRows}, {{256, 8192}, {1, 3}}, faults);
  LoaderOptions options{.batch = Samples{1024}, .threads = 2};
  options.memory = std::uint64_t{128} << 20;
  options.cache.mode = CacheChoice::kNone;
  {
    Loader loader(fake_dataset({kRows}, {{256, 8192}, {1, 3}}), options);
    EXPECT_EQ(loader.report().memory.resident_bytes, kRows * 4);
    EXPECT_EQ(delivered_rows(loader, 1).size(), kRows / 1024);
    EXPECT_EQ(loader.report().memory.peak_resident_bytes, kRows * 4);
    EXPECT_LE(loader.report().read_amplification, 1.1);  // no chunk of labels is decoded again for another block
  }
  // A chunk of labels that cannot be decoded fails the batch that its rows are in.
  Loader loader(data, options);
  auto epoch = loader.epoch();
  for (std::uint64_t i = 0; i < 3001 / 1024; ++i) ASSERT_TRUE(epoch.next().has_value());
  EXPECT_THROW((void)epoch.next(), Error);
}

}  // namespace
}  // namespace headrace
