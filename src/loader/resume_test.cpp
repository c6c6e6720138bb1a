// Ranks, tails, state: every sample once, over any number of processes, stops and restarts.
#include <gtest/gtest.h>
#include <headrace/loader.h>
#include <rapidcheck.h>

#include <algorithm>
#include <tuple>

#include "dataset/testing/fake_source.h"

namespace headrace {
namespace {

using testing::fake_dataset;

/// Row of each sample of a batch that counts, read from the first field's first element.
std::vector<std::uint64_t> rows_of(const Batch& batch) {
  std::vector<std::uint64_t> rows;
  const auto values = batch.array(0).as<std::uint32_t>();
  const std::uint64_t width = batch.fields()[0].dims.extents()[0];
  const bool weighted = batch.fields().back().name == "_weight";
  for (std::uint64_t i = 0; i < batch.rows(); ++i)
    if (!weighted || batch["_weight"].as<float>()[i] > 0) rows.push_back(values[i * width] / 1009);
  return rows;
}
std::vector<std::vector<std::uint64_t>> rest_of(Loader::Epoch& epoch) {
  std::vector<std::vector<std::uint64_t>> batches;
  while (const auto batch = epoch.next()) batches.push_back(rows_of(*batch));
  return batches;
}
std::vector<std::vector<std::uint64_t>> one_epoch(Loader& loader) {
  Loader::Epoch epoch = loader.epoch();
  return rest_of(epoch);
}

Dataset data_to_resume() {
  return fake_dataset({130, 75, 40}, {{20, 16}, {3, 64}});
}

LoaderOptions some_options() {
  LoaderOptions options;
  options.batch = Samples{*rc::gen::inRange<std::uint64_t>(1, 60)};
  options.order = *rc::gen::element<Order>(InOrder{}, BlockShuffle{}, ExactShuffle{});
  options.seed = *rc::gen::inRange<std::uint64_t>(0, 100);
  std::get<Samples>(options.batch).tail = *rc::gen::element(Tail::kPartial, Tail::kDrop, Tail::kPad);
  options.threads = *rc::gen::inRange<std::uint32_t>(1, 4);
  if (options.order.is<BlockShuffle>() && *rc::gen::arbitrary<bool>())
    options.order = BlockShuffle{{*rc::gen::inRange<std::uint32_t>(1, 20), *rc::gen::inRange<std::uint32_t>(1, 4), 0}};
  return options;
}

TEST(Ranks, TheirBatchesJoinedAreThoseOfOneProcess) {
  EXPECT_TRUE(rc::check([] {
    const Dataset data = data_to_resume();
    const auto world = *rc::gen::inRange<std::uint32_t>(1, 9);
    LoaderOptions options = some_options();
    options.batch = GlobalSamples{std::min(std::get<Samples>(options.batch).size * world, data.size() / world * world),
                                  tail_of(options.batch)};
    Loader whole(data, options);
    const auto want = one_epoch(whole);
    std::vector<std::vector<std::uint64_t>> joined(want.size());
    std::uint64_t rows = 0, squares = 0;
    for (std::uint32_t r = 0; r < world; ++r) {
      options.rank = r;
      options.world_size = world;
      Loader loader(data, options);
      RC_ASSERT(loader.num_batches() == want.size());
      const auto mine = one_epoch(loader);
      RC_ASSERT(mine.size() == want.size());
      for (std::size_t i = 0; i < mine.size(); ++i) joined[i].insert(joined[i].end(), mine[i].begin(), mine[i].end());
      rows += loader.report().row_sums.rows;
      squares += loader.report().row_sums.sum_of_squares;
    }
    RC_ASSERT(joined == want);
    RC_ASSERT(rows == whole.report().row_sums.rows);
    RC_ASSERT(squares == whole.report().row_sums.sum_of_squares);
  }));
}

TEST(Ranks, TheEnvironmentIsAskedWhenAnEpochStarts) {
  const Dataset data = data_to_resume();
  Loader loader(data, {.batch = Samples{10}});
  EXPECT_EQ(one_epoch(loader).size(), 25u);
  ::setenv("RANK", "1", 1);
  ::setenv("WORLD_SIZE", "5", 1);
  const auto batches = one_epoch(loader);
  ::unsetenv("RANK");
  ::unsetenv("WORLD_SIZE");
  EXPECT_EQ(batches.size(), 5u);
  EXPECT_EQ(batches[0].front(), 10u);
  EXPECT_EQ(loader.report().world_size, 5u);
  loader.set_rank(0, 2);
  EXPECT_EQ(one_epoch(loader).size(), 13u);
}

TEST(Resume, AtEveryStepWithOtherThreadsMemoryAndWorldSizes) {
  EXPECT_TRUE(rc::check([] {
    const Dataset data = data_to_resume();
    LoaderOptions options = some_options();
    const std::uint64_t global = std::min<std::uint64_t>(std::get<Samples>(options.batch).size * 12, 240);
    options.batch = GlobalSamples{global, tail_of(options.batch)};
    Loader reference(data, options);
    const auto want = one_epoch(reference);
    // Three runs in a row, each of another world size, each stopped somewhere.
    std::vector<std::vector<std::uint64_t>> got(want.size());
    std::string state;
    std::size_t done = 0;
    for (int run = 0; done < want.size(); ++run) {
      const std::uint32_t world = *rc::gen::element(1u, 2u, 3u, 4u, 6u);
      const std::size_t stop = run == 3 ? want.size() : *rc::gen::inRange(done, want.size() + 1);
      std::string saved;
      for (std::uint32_t r = 0; r < world; ++r) {
        LoaderOptions mine = options;
        mine.rank = r;
        mine.world_size = world;
        mine.threads = *rc::gen::inRange<std::uint32_t>(1, 4);
        mine.memory = *rc::gen::element<std::uint64_t>(0, 1 << 20);
        Loader loader(data, mine);
        if (!state.empty()) {
          loader.load_state(state);
          RC_ASSERT(loader.state() == state);
        }
        Loader::Epoch epoch = loader.epoch();
        for (std::size_t i = done; i < stop; ++i) {
          const auto batch = epoch.next();
          RC_ASSERT(batch.has_value());
          const auto rows = rows_of(*batch);
          got[i].insert(got[i].end(), rows.begin(), rows.end());
        }
        if (r == 0)
          saved = loader.state();
        else
          RC_ASSERT(saved == loader.state());  // the same on every rank
        RC_ASSERT(saved.size() < 200);
      }
      state = saved;
      done = stop;
    }
    RC_ASSERT(got == want);
  }));
}

/// Batches from `from` to `to` of an epoch that `world` ranks deliver, after `state` if there is one; the state there.
std::string go_on(const Dataset& data, LoaderOptions options, std::uint32_t world, const std::string& state,
                  std::size_t from, std::size_t to, std::vector<std::vector<std::uint64_t>>& got) {
  std::string saved;
  for (std::uint32_t r = 0; r < world; ++r) {
    options.rank = r;
    options.world_size = world;
    options.threads = 1 + (world + r) % 3;
    options.memory = from % 2 == 0 ? 0 : 1 << 20;
    Loader loader(data, options);
    if (!state.empty()) loader.load_state(state);
    Loader::Epoch epoch = loader.epoch();
    for (std::size_t i = from; i < to; ++i) {
      const auto batch = epoch.next();
      if (!batch) break;
      const auto rows = rows_of(*batch);
      got[i].insert(got[i].end(), rows.begin(), rows.end());
    }
    if (r == 0) saved = loader.state();
    EXPECT_EQ(saved, loader.state()) << "rank " << r;
  }
  return saved;
}

TEST(Resume, AtEveryStepForWorldsOfOneToEightThreeTimesInARow) {
  constexpr std::uint64_t kBatch = 840;  // a multiple of every world size
  const Dataset data = fake_dataset({2500, 900, 2301}, {{4, 16}, {3, 64}});
  for (const Order& shuffle : {Order(InOrder{}), Order(BlockShuffle{}), Order(ExactShuffle{})}) {
    LoaderOptions options{.batch = GlobalSamples{kBatch}, .order = shuffle, .seed = 3};
    if (shuffle.is<BlockShuffle>()) options.order = BlockShuffle{{24, 2, 0}};
    Loader reference(data, options);
    const auto want = one_epoch(reference);
    ASSERT_EQ(want.size(), 7u);
    for (std::uint32_t world = 1; world <= 8; ++world)
      for (std::size_t step = 0; step <= want.size(); ++step) {
        std::vector<std::vector<std::uint64_t>> got(want.size());
        const std::size_t first = step / 3, second = step - step / 3;
        std::string state = go_on(data, options, 9 - world, "", 0, first, got);
        state = go_on(data, options, world, state, first, second, got);
        state = go_on(data, options, world % 8 + 1, state, second, step, got);
        if (step < want.size()) go_on(data, options, world, state, step, want.size(), got);
        ASSERT_EQ(got, want) << "world " << world << ", step " << step;
      }
  }
}

TEST(Resume, AnotherBatchSizeGoesOnAtTheSameSample) {
  const Dataset data = data_to_resume();
  for (const Order& shuffle : {Order(InOrder{}), Order(BlockShuffle{}), Order(ExactShuffle{})}) {
    Loader first(data, {.batch = Samples{16}, .order = shuffle});
    Loader::Epoch epoch = first.epoch();
    std::vector<std::uint64_t> seen;
    for (int i = 0; i < 5; ++i) {
      const auto rows = rows_of(*epoch.next());
      seen.insert(seen.end(), rows.begin(), rows.end());
    }
    Loader second(data, {.batch = Samples{33}, .order = shuffle});
    second.load_state(first.state());
    for (const auto& batch : one_epoch(second)) seen.insert(seen.end(), batch.begin(), batch.end());
    std::sort(seen.begin(), seen.end());
    ASSERT_EQ(seen.size(), data.size());
    for (std::uint64_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], i);
  }
}

TEST(Resume, AnotherBatchSizeGoesOnWithTheShuffleOfTheState) {
  const Dataset data = fake_dataset({4100}, {{16'384, 16}});  // 256 MiB and a little, in blocks of a mebibyte
  constexpr std::uint64_t kBytes = 100 << 20;
  for (const auto& [first_batch, second_batch, bytes, order] :
       {std::tuple(64, 300, std::uint64_t{0}, "\"mix 256x1\""), std::tuple(300, 64, std::uint64_t{0}, "\"exact\""),
        std::tuple(16, 300, kBytes, "\"mix 64x1\"")}) {
    LoaderOptions options{.batch = Samples{static_cast<std::uint64_t>(first_batch)}, .order = BlockShuffle{}};
    options.order = BlockShuffle{{0, 0, bytes}};
    Loader first(data, options);
    Loader::Epoch epoch = first.epoch();
    std::vector<std::uint64_t> seen;
    for (int i = 0; i < 3; ++i) {
      const auto rows = rows_of(*epoch.next());
      seen.insert(seen.end(), rows.begin(), rows.end());
    }
    const std::string state = first.state();
    ASSERT_NE(state.find(order), std::string::npos) << state;
    options.batch = Samples{static_cast<std::uint64_t>(second_batch)};
    Loader second(data, options);
    ASSERT_EQ(second.state().find(order), std::string::npos) << second.state();
    const auto told = [&] {
      return std::ranges::count_if(second.notices(), [](const std::string& notice) {
        return notice.find("the shuffle goes on as that of the state") != std::string::npos;
      });
    };
    EXPECT_EQ(told(), 0);
    second.load_state(state);
    EXPECT_NE(second.state().find(order), std::string::npos) << second.state();
    EXPECT_EQ(told(), 1);
    Loader third(data, options);  // of the batch that the state has now, and not of the shuffle
    third.load_state(second.state());
    for (const auto& batch : one_epoch(third)) seen.insert(seen.end(), batch.begin(), batch.end());
    std::ranges::sort(seen);
    ASSERT_EQ(seen.size(), data.size());
    for (std::uint64_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], i);
  }
}

TEST(Resume, TheShuffleOfOlderVersionsIsRefusedByName) {
  const Dataset data = data_to_resume();
  Loader loader(data, {.batch = Samples{20}, .order = BlockShuffle{}});
  std::string state = loader.state();
  state.replace(state.find("\"exact\""), 7, "\"block 4x4\"");
  try {
    loader.load_state(state);
    FAIL() << "the state was taken";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("block 4x4"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("before 0.1.0"), std::string::npos) << e.what();
    EXPECT_NE(e.hint().find("version"), std::string::npos) << e.hint();
  }
}

TEST(Resume, ALiveEpochIsRewoundAndTheNextFollows) {
  const Dataset data = data_to_resume();
  Loader loader(data, {.batch = Samples{20}, .order = BlockShuffle{}});
  const auto zero = one_epoch(loader);
  Loader::Epoch epoch = loader.epoch();
  std::vector<std::vector<std::uint64_t>> first{rows_of(*epoch.next()), rows_of(*epoch.next())};
  const std::string state = loader.state();
  first.push_back(rows_of(*epoch.next()));
  loader.load_state(state);
  EXPECT_EQ(loader.state(), state);
  EXPECT_EQ(rows_of(*epoch.next()), first[2]);
  EXPECT_EQ(rest_of(epoch).size(), zero.size() - 3);
  EXPECT_EQ(loader.next_epoch(), 2u);
  loader.load_state(state);  // between epochs: the next one goes on there; naming it again changes nothing
  loader.set_epoch(1);
  Loader::Epoch again = loader.epoch();
  EXPECT_EQ(again.number(), 1u);
  EXPECT_EQ(rows_of(*again.next()), first[2]);
}

TEST(Resume, TheEndOfAnEpochIsTheStartOfTheNext) {
  const Dataset data = data_to_resume();
  for (const Tail tail : {Tail::kPartial, Tail::kDrop}) {
    Loader loader(data, {.batch = Samples{50, tail}});
    const std::string start = loader.state();
    Loader::Epoch epoch = loader.epoch();
    for (std::uint64_t i = 0; i < loader.num_batches(); ++i) (void)epoch.next();
    const std::string before = loader.state();
    EXPECT_FALSE(epoch.next().has_value());
    EXPECT_EQ(loader.state(), before);
    EXPECT_NE(before.find("\"epoch\":1,\"samples\":0"), std::string::npos) << before;
  }
}

TEST(Resume, AStateOfSomethingElseIsRefusedByNameAndChangesNothing) {
  const Dataset data = data_to_resume();
  Loader loader(data, {.batch = Samples{20}, .order = BlockShuffle{}, .seed = 7});
  Loader::Epoch epoch = loader.epoch();
  (void)epoch.next();
  const std::string here = loader.state();
  const auto refused = [&](const std::string& state, std::string_view what) {
    try {
      loader.load_state(state);
      ADD_FAILURE() << "taken: " << state;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kInvalidArgument);
      EXPECT_NE(std::string(e.what()).find(what), std::string::npos) << e.what();
      EXPECT_FALSE(e.hint().empty());
    }
    EXPECT_EQ(loader.state(), here);
  };
  refused(Loader(data, {.batch = Samples{20}, .order = BlockShuffle{}, .seed = 8}).state(), "seed");
  refused(Loader(data, {.batch = Samples{20}, .seed = 7}).state(), "order");
  refused(Loader(fake_dataset({244}, {{20, 16}}), {.batch = Samples{20}, .order = BlockShuffle{}, .seed = 7}).state(),
          "samples");
  refused(Loader(fake_dataset({245}, {{20, 16}, {3, 64}}), {.batch = Samples{20}, .order = BlockShuffle{}, .seed = 7})
              .state(),
          "data");
  refused("[]", "JSON");
  refused("{\"v\":99}", "version");
  refused("{", "JSON");
  EXPECT_EQ(rows_of(*epoch.next()).size(), 20u);
}

/// The same data with its files in other places, of other names or in another order.
Dataset moved(const Dataset& data, const std::vector<std::string>& paths, const std::vector<std::size_t>& order) {
  auto source = std::make_shared<Source>(*impl_of(data)->source.rows());
  for (std::size_t f = 0; f < order.size(); ++f) {
    source->files[f] = impl_of(data)->source.rows()->files[order[f]];
    source->files[f].path = paths[f];
  }
  return Dataset(Dataset::Impl::make(source));
}

TEST(Resume, AStateKnowsItsFilesButNotWhereTheyLie) {
  const Dataset data = moved(fake_dataset({100, 100}, {{20, 16}}), {"/here/a.h5", "/here/b.h5"}, {0, 1});
  const LoaderOptions options{.batch = Samples{20}, .order = BlockShuffle{}};
  Loader first(data, options);
  Loader::Epoch epoch = first.epoch();
  (void)epoch.next();
  const std::string state = first.state();
  const auto rest = rest_of(epoch);

  Loader copy(moved(data, {"/there/a.h5", "/there/b.h5"}, {0, 1}), options);
  copy.load_state(state);
  EXPECT_EQ(one_epoch(copy), rest);
  const auto refused = [&](const Dataset& other, std::string_view what) {
    Loader loader(other, options);
    const std::string before = loader.state();
    try {
      loader.load_state(state);
      ADD_FAILURE() << "taken: " << what;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(what), std::string::npos) << e.what();
      EXPECT_NE(e.hint().find("accept_changed_data"), std::string::npos);
    }
    EXPECT_EQ(loader.state(), before);
    loader.load_state(state, {.accept_changed_data = true});
    Loader::Epoch resumed = loader.epoch();
    EXPECT_EQ(rest_of(resumed).size(), rest.size());
  };
  refused(moved(data, {"/here/b.h5", "/here/a.h5"}, {1, 0}), "the same files in another order");
  refused(moved(data, {"/here/a.h5", "/here/c.h5"}, {0, 1}), "other names");
  Loader longer(moved(fake_dataset({90, 110}, {{20, 16}}), {"/here/a.h5", "/here/b.h5"}, {0, 1}), options);
  EXPECT_THROW(longer.load_state(state, {.accept_changed_data = true}), Error);  // positions would mean other samples
}

TEST(Tails, PaddingRepeatsSamplesWithWeightZero) {
  const Dataset data = data_to_resume();  // 245 samples
  for (const std::uint32_t world : {1u, 2u, 4u}) {
    std::vector<std::uint64_t> real;
    for (std::uint32_t r = 0; r < world; ++r) {
      Loader loader(data, {.batch = Samples{30, Tail::kPad}, .order = BlockShuffle{}, .rank = r, .world_size = world});
      for (const Batch& batch : loader) {
        ASSERT_EQ(batch.rows(), 30u);
        const auto weight = batch["_weight"].as<float>();
        const auto rows = rows_of(batch);
        for (std::size_t i = 0; i < rows.size(); ++i)
          if (weight[i] != 0) real.push_back(rows[i]);
      }
    }
    std::sort(real.begin(), real.end());
    ASSERT_EQ(real.size(), data.size());
    for (std::uint64_t i = 0; i < real.size(); ++i) ASSERT_EQ(real[i], i);
  }
}

TEST(Provenance, RowsSayWhereSamplesCameFrom) {
  const Dataset data = data_to_resume();
  const std::array<std::uint64_t, 3> first = {0, 130, 205};
  Loader loader(data, {.batch = Samples{32}, .order = ExactShuffle{}, .provenance = true});
  for (const Batch& batch : loader) {
    const auto from = batch["_rows"].as<std::int64_t>();
    const auto rows = rows_of(batch);
    for (std::size_t i = 0; i < rows.size(); ++i)
      ASSERT_EQ(first[static_cast<std::size_t>(from[2 * i])] + static_cast<std::uint64_t>(from[2 * i + 1]), rows[i]);
  }
  EXPECT_TRUE(loader.report().exactly_once);
}

TEST(Ranks, WhatCannotBeDividedIsRefused) {
  const Dataset data = data_to_resume();
  EXPECT_THROW(Loader(data, {.batch = Samples{1}, .rank = 0, .world_size = 246}), Error);       // an empty rank
  EXPECT_THROW(Loader(data, {.batch = GlobalSamples{10}, .rank = 0, .world_size = 3}), Error);  // no multiple
  EXPECT_THROW(Loader(data, {.batch = Samples{10}, .rank = 3, .world_size = 3}), Error);
  EXPECT_THROW(Loader(data, {.batch = Samples{10}, .rank = 0}), Error);
  EXPECT_THROW(Loader(data, {.batch = Samples{100, Tail::kDrop}, .rank = 0, .world_size = 3}), Error);
}

}  // namespace
}  // namespace headrace
