// Windows, spans, lists and patches, delivered by a Loader: ragged events with a label, windows that overlap, boxes.
#include <gtest/gtest.h>
#include <headrace/loader.h>
#include <rapidcheck.h>

#include <map>

#include "catalog/samples/span_map.h"
#include "dataset/testing/mapped_data.h"
#include "loader/plan/plan_for.h"

namespace headrace {
namespace {

using testing::Copy;
using testing::copy_of;
using testing::Events;
using testing::fake_value;
using testing::FakeVolume;
using testing::heavy_tailed;
using testing::renamed;
using testing::table_of;

std::vector<Copy> delivered_copies(Loader& loader, int epochs = 1) {
  std::vector<Copy> all;
  for (int e = 0; e < epochs; ++e)
    for (const Batch& batch : loader) all.push_back(copy_of(batch));
  return all;
}

/// Which event each sample of a batch is, by its label; its rows are compared with what they must be.
std::vector<std::uint64_t> checked_events(const Events& events, const Batch& batch) {
  std::map<std::uint32_t, std::uint64_t> by_label;
  for (std::uint64_t e = 0; e + 1 < events.starts.size(); ++e) by_label[fake_value(0, e, 0)] = e;
  std::vector<std::uint64_t> numbers;
  const auto offsets = batch.offsets(0);
  EXPECT_EQ(offsets.size(), batch.rows() + 1);
  EXPECT_TRUE(batch.offsets(2).empty());
  const auto x = batch["pulse0"].as<std::uint32_t>(), y = batch["pulse1"].as<std::uint32_t>(),
             label = batch["label0"].as<std::uint32_t>();
  EXPECT_EQ(batch["pulse0"].shape(), (std::vector<std::uint64_t>{static_cast<std::uint64_t>(offsets.back()), 3}));
  for (std::uint64_t i = 0; i < batch.rows(); ++i) {
    const std::uint64_t event = by_label.at(label[2 * i]);
    numbers.push_back(event);
    const auto first = static_cast<std::uint64_t>(offsets[i]),
               count = static_cast<std::uint64_t>(offsets[i + 1]) - first;
    EXPECT_EQ(count, events.starts[event + 1] - events.starts[event]);
    for (std::uint64_t k = 0; k < count; ++k) {
      const std::uint64_t row = events.starts[event] + k;
      for (std::uint64_t j = 0; j < 3; ++j) EXPECT_EQ(x[(first + k) * 3 + j], fake_value(0, row, j));
      EXPECT_EQ(y[first + k], fake_value(1, row, 0));
    }
  }
  return numbers;
}

TEST(MappedLoader, EventsAreRaggedFieldsAndComeOnceAnEpoch) {
  const Events events(heavy_tailed(300, 1));
  EXPECT_EQ(events.data->size(), 300u);
  EXPECT_EQ(events.data->fields()[0].dims.text(), "(ragged, 3)");
  EXPECT_EQ(events.data->fields()[2].dims.text(), "(2,)");
  EXPECT_NE(events.data->describe().find("(ragged, 3)"), std::string::npos);
  Loader loader(*events.data, {.batch = Samples{16}, .order = BlockShuffle{}, .threads = 3});
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::vector<std::uint64_t> seen;
    for (const Batch& batch : loader)
      for (const std::uint64_t event : checked_events(events, batch)) seen.push_back(event);
    EXPECT_FALSE(std::ranges::is_sorted(seen));
    std::ranges::sort(seen);
    ASSERT_EQ(seen.size(), 300u);
    for (std::uint64_t e = 0; e < seen.size(); ++e) EXPECT_EQ(seen[e], e);
  }
  EXPECT_FALSE(loader.explain().empty());
  EXPECT_EQ(loader.report().samples, 900u);
  EXPECT_FALSE(loader.report().text().empty());
}

TEST(MappedLoader, AnyThreadsAnyBudgetDownToTheSmallestSameBatches) {
  EXPECT_TRUE(rc::check([] {
    const Events events(heavy_tailed(*rc::gen::inRange<std::size_t>(1, 200), *rc::gen::inRange<std::uint64_t>(0, 1000)),
                        *rc::gen::inRange<std::uint64_t>(1, 20));
    LoaderOptions options{.batch = Samples{*rc::gen::inRange<std::uint64_t>(1, 40)}};
    options.order = *rc::gen::element<Order>(InOrder{}, BlockShuffle{}, ExactShuffle{});
    options.threads = 2;
    Loader easy(*events.data, options);
    const std::vector<Copy> want = delivered_copies(easy, 2);
    options.threads = *rc::gen::inRange<std::uint32_t>(1, 4);
    options.memory = smallest_budget(*events.data, options) * *rc::gen::inRange<std::uint64_t>(100, 300) / 100;
    Loader hard(*events.data, options);
    RC_ASSERT(delivered_copies(hard, 2) == want);
  }));
}

TEST(MappedLoader, ResumesAtEveryStepAndMakesAnyBatchAgain) {
  const Events events(heavy_tailed(120, 3));
  const LoaderOptions options{.batch = Samples{9}, .order = BlockShuffle{}, .seed = 5, .threads = 2};
  Loader loader(*events.data, options);
  std::vector<Copy> all;
  std::vector<std::string> states;
  for (const Batch& batch : loader) {
    all.push_back(copy_of(batch));
    states.push_back(loader.state());
  }
  for (std::size_t step = 0; step + 1 < all.size(); ++step) {
    Loader other(*events.data, options);
    other.load_state(states[step]);
    EXPECT_EQ(delivered_copies(other),
              std::vector<Copy>(all.begin() + static_cast<std::ptrdiff_t>(step) + 1, all.end()));
    EXPECT_EQ(copy_of(loader.batch(0, step)), all[step]) << step;
  }
  const Events others(heavy_tailed(120, 4));
  Loader wrong(*others.data, options);
  EXPECT_THROW(wrong.load_state(states[1]), Error);
}

/// Windows of the first `rows` rows of a group.
std::shared_ptr<SpanMap> window_map(const SourceGroup& group, std::uint64_t rows, std::uint64_t stride,
                                    std::uint64_t length) {
  return std::make_shared<SpanMap>(SpanMap::Options{.block_samples = 8,
                                                    .rows = group.layout.table,
                                                    .row_weight = row_weight(1),
                                                    .spans = Spans::windows({{0, rows}}, stride, length)});
}

TEST(MappedLoader, AStateIsOfItsMapToo) {
  const auto windows = [](const std::string& identity) {
    std::vector<SourceGroup> groups;
    groups.push_back(renamed(table_of({500}, {{1, 64}}), "token"));
    auto map = window_map(groups[0], 500, 10, 11);
    return Dataset(Dataset::Impl::make(make_mapped_source(map, nullptr, std::move(groups), identity).value()));
  };
  const LoaderOptions options{.batch = Samples{7}, .order = BlockShuffle{}, .threads = 1};
  Loader loader(windows("every 10"), options);
  (void)*loader.begin();
  Loader same(windows("every 10"), options), other(windows("every 5"), options);
  same.load_state(loader.state());
  EXPECT_THROW(other.load_state(loader.state()), Error);
}

TEST(MappedLoader, RanksGetTheSamplesOfOneProcess) {
  const Events events(heavy_tailed(200, 7));
  const auto numbers = [&](LoaderOptions options) {
    options.batch = GlobalSamples{12}, options.order = BlockShuffle{}, options.threads = 2;
    options.order = BlockShuffle{{4, 1, 0}};
    Loader loader(*events.data, options);
    std::vector<std::vector<std::uint64_t>> steps;
    for (const Batch& batch : loader) steps.push_back(checked_events(events, batch));
    return steps;
  };
  const auto alone = numbers({});
  std::vector<std::vector<std::uint64_t>> joined(alone.size());
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    const auto mine = numbers({.rank = rank, .world_size = 3});
    ASSERT_EQ(mine.size(), alone.size());
    for (std::size_t s = 0; s < mine.size(); ++s) joined[s].insert(joined[s].end(), mine[s].begin(), mine[s].end());
  }
  EXPECT_EQ(joined, alone);
}

TEST(MappedLoader, SamplesAreReadByNumberToo) {
  const Events events(heavy_tailed(60, 2));
  const std::vector<std::uint64_t> rows{59, 0, 7, 7, 30};
  EXPECT_EQ(checked_events(events, events.data->take(rows)), rows);
  EXPECT_EQ(checked_events(events, events.data->slice(10, 3)), (std::vector<std::uint64_t>{10, 11, 12}));
  EXPECT_THROW((void)events.data->take(std::vector<std::uint64_t>{60}), Error);
  EXPECT_THROW((void)events.data->select(std::vector<std::uint64_t>{1}), Error);
}

TEST(MappedLoader, DamageIsRaisedAtTheFirstBatchThatHoldsIt) {
  Events events(heavy_tailed(200, 9));
  events.faults->bad_rows = {events.starts[150]};
  std::vector<std::uint64_t> good;  // samples before the error: up to the first that shares the damaged chunk
  for (const std::uint32_t threads : {1u, 3u}) {
    Loader loader(*events.data, {.batch = Samples{10}, .threads = threads});
    std::uint64_t& before = good.emplace_back();
    try {
      for (const Batch& batch : loader) before += batch.rows();
      ADD_FAILURE() << "nothing was raised";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCorruptData);
    }
  }
  EXPECT_EQ(good[0], good[1]);
  EXPECT_GT(good[0], 0u);
  EXPECT_LE(good[0], 150u);
  EXPECT_THROW((void)events.data->take(std::vector<std::uint64_t>{150}), Error);
}

TEST(MappedLoader, KeptBatchesNeverStallItAndStayAsTheyWere) {
  const Events events(heavy_tailed(300, 5));
  const LoaderOptions few{.batch = Samples{8},
                          .order = BlockShuffle{},
                          .memory = smallest_budget(*events.data, {.batch = Samples{8}, .order = BlockShuffle{}}),
                          .threads = 1};
  Loader loader(*events.data, few);
  std::vector<Batch> kept;
  std::vector<Copy> copies;
  for (const Batch& batch : loader) {
    kept.push_back(batch);
    copies.push_back(copy_of(batch));
  }
  loader.close();
  for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(copy_of(kept[i]), copies[i]);
}

TEST(MappedLoader, WindowsThatOverlapHaveOneShape) {
  std::vector<SourceGroup> groups;
  groups.push_back(renamed(table_of({500}, {{1, 64}}), "token"));
  auto map = window_map(groups[0], 500, 10, 11);
  const Dataset data(Dataset::Impl::make(make_mapped_source(map, nullptr, std::move(groups), "windows of 11").value()));
  EXPECT_EQ(data.fields()[0].dims.text(), "(11, 1)");
  EXPECT_EQ(data.sample_bytes(), 11 * 4u);
  ASSERT_EQ(data.files().size(), 1u);
  EXPECT_EQ(data.files()[0].rows, 500u);  // those of the table, not one for each window
  Loader loader(data, {.batch = Samples{7}, .order = BlockShuffle{}, .threads = 2});
  std::uint64_t samples = 0;
  for (const Batch& batch : loader) {
    const auto values = batch["token0"].as<std::uint32_t>();
    ASSERT_EQ(values.size(), batch.rows() * 11);
    samples += batch.rows();
  }
  EXPECT_EQ(samples, 49u);
  const Batch two = data.take(std::vector<std::uint64_t>{4, 48});
  for (std::uint64_t k = 0; k < 11; ++k) {
    EXPECT_EQ(two["token0"].as<std::uint32_t>()[k], fake_value(0, 40 + k, 0));
    EXPECT_EQ(two["token0"].as<std::uint32_t>()[11 + k], fake_value(0, 480 + k, 0));
  }
}

TEST(MappedLoader, SelectedRowsAreRefused) {
  SourceGroup group = renamed(table_of({500}, {{1, 64}}), "token");
  auto some = std::make_shared<Source>(*group.source);
  some->chosen = std::make_shared<const RowSet>(500, std::vector<std::uint64_t>{0, 3, 6});
  group = {some, plan_layout(*some, 0)};
  auto map = window_map(group, 2, 2, 2);
  const auto made = make_mapped_source(map, nullptr, {group}, "windows");
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code(), ErrorCode::kUnsupported);
}

TEST(MappedLoader, TransformedRowsAreRefused) {
  SourceGroup group = renamed(table_of({500}, {{1, 64}}), "token");
  auto made = std::make_shared<Source>(*group.source);
  made->program =
      Program::make({{made->columns->at(0)}}, {{"Cast", {"token0"}, {{"dtype", std::string("float64")}}}}).value();
  group.source = made;
  auto map = window_map(group, 2, 2, 2);
  const auto mapped = make_mapped_source(map, nullptr, {group}, "windows");
  ASSERT_FALSE(mapped.ok());
  EXPECT_EQ(mapped.error().code(), ErrorCode::kUnsupported);
}

TEST(MappedLoader, AFileIsAGroup) {
  const Events events(heavy_tailed(20, 1));
  Loader loader(*events.data, {.batch = Groups{.by = "file"}});
  std::uint64_t samples = 0;
  for (const Batch& batch : loader) samples += batch.rows();
  EXPECT_EQ(samples, events.data->size());
}

/// HEADRACE_KEEP_SHARE for the length of a test: units are kept at once.
class KeptAtOnce {
 public:
  KeptAtOnce() { ::setenv("HEADRACE_KEEP_SHARE", "inf", 1); }
  ~KeptAtOnce() { ::unsetenv("HEADRACE_KEEP_SHARE"); }
};

TEST(MappedLoader, DecodedUnitsAreKeptWhereTheyFit) {
  const KeptAtOnce at_once;
  const Events events(heavy_tailed(400, 1), 13);
  LoaderOptions options{.batch = Samples{16}, .order = BlockShuffle{}, .threads = 2};
  options.cache.mode = CacheChoice::kNone;
  Loader anew(*events.data, options);
  const std::vector<Copy> want = delivered_copies(anew, 3);
  EXPECT_NE(anew.explain().find("cache='none'"), std::string::npos) << anew.explain();
  EXPECT_EQ(anew.report().cache.hits, 0u);
  options.cache.mode = CacheChoice::kAuto;
  Loader kept(*events.data, options);
  EXPECT_EQ(delivered_copies(kept, 3), want);
  const Report::Cache cache = kept.report().cache;
  EXPECT_TRUE(cache.complete) << cache.blocks << " of " << cache.all_blocks;
  EXPECT_EQ(cache.misses, cache.all_blocks);  // each was decoded once in three epochs
  EXPECT_NE(kept.explain().find("all rows, decoded"), std::string::npos) << kept.explain();
  EXPECT_EQ(kept.explain().find("the first epoch measures"), std::string::npos) << kept.explain();
}

TEST(MappedLoader, BoxesOfTwoVolumes) {
  const Axes shape{20, 24, 30}, box{7, 9, 11};
  const std::vector<CellGrid> grids{{3, shape, {8, 8, 8}, 4}, {3, shape, {5, 24, 7}, 4}};
  std::vector<Axes> starts;
  for (std::uint64_t i = 0; i < 40; ++i) starts.push_back({i * 7 % 14, i * 5 % 16, i * 11 % 20});
  auto map = testing::boxes_at(grids, box, starts, 5);
  std::vector<SourceGroup> groups{testing::volume_of(0, grids[0]), testing::volume_of(1, grids[1])};
  const Dataset data(Dataset::Impl::make(make_mapped_source(map, map, std::move(groups), "boxes").value()));
  EXPECT_EQ(data.fields()[1].dims.text(), "(7, 9, 11)");
  EXPECT_EQ(data.sample_bytes(), 2 * 7 * 9 * 11 * 4u);
  const auto check = [&](const Batch& batch, std::span<const std::uint64_t> rows) {
    for (std::uint32_t v = 0; v < 2; ++v) {
      const Tensor tensor = batch.array(v);
      ASSERT_EQ(tensor.shape(), (std::vector<std::uint64_t>{batch.rows(), 7, 9, 11}));
      const auto values = tensor.as<std::uint32_t>();
      for (std::uint64_t i = 0; i < rows.size(); ++i)
        for (std::uint64_t e = 0; e < 7 * 9 * 11; ++e) {
          const Axes& at = starts[rows[i]];
          ASSERT_EQ(values[i * 7 * 9 * 11 + e],
                    FakeVolume::value(v, grids[v], {at[0] + e / 99, at[1] + e / 11 % 9, at[2] + e % 11}));
        }
    }
  };
  const std::vector<std::uint64_t> some{39, 0, 5};
  check(data.take(some), some);
  Loader loader(data, {.batch = Samples{6}, .order = BlockShuffle{}, .provenance = true, .threads = 2});
  std::uint64_t samples = 0;
  for (const Batch& batch : loader) {
    std::vector<std::uint64_t> rows;
    const auto provenance = batch["_start"].as<std::int64_t>();
    for (std::uint64_t i = 0; i < batch.rows(); ++i) {
      Axes at{};
      for (std::size_t a = 0; a < 3; ++a) at[a] = static_cast<std::uint64_t>(provenance[3 * i + a]);
      rows.push_back(static_cast<std::uint64_t>(std::ranges::find(starts, at) - starts.begin()));
      EXPECT_EQ(batch["_volume"].as<std::int64_t>()[i], 0);
    }
    check(batch, rows);
    samples += batch.rows();
  }
  EXPECT_EQ(samples, 40u);
}

// A box of 2x2x2 out of cells of 8x8x8: most of what is decoded is thrown away.
TEST(MappedLoader, ReadAmplificationOfBoxesIsWhatWasDecodedOverWhatWasCopied) {
  const CellGrid grid{3, {32, 32, 32}, {8, 8, 8}, 4};
  const auto amplification = [&](const Axes& box, std::uint64_t count) {
    std::vector<Axes> starts;
    for (std::uint64_t i = 0; i < count; ++i) starts.push_back({i % 4 * 8, i / 4 % 4 * 8, i / 16 % 4 * 8});
    auto map = testing::boxes_at({grid}, box, starts, 5);
    const Dataset data(
        Dataset::Impl::make(make_mapped_source(map, map, {testing::volume_of(0, grid)}, "boxes").value()));
    Loader loader(data, {.batch = Samples{4}, .threads = 1});
    for (const Batch& batch : loader) (void)batch;
    // It reads ahead, and a report reads one counter after the other: look when the window is full.
    Report report = loader.report();
    for (std::uint64_t before = 0; before != report.chunks_decoded; report = loader.report()) {
      before = report.chunks_decoded;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return report.read_amplification;
  };
  EXPECT_DOUBLE_EQ(amplification({2, 2, 2}, 64), 64);
  EXPECT_DOUBLE_EQ(amplification({8, 8, 8}, 64), 1);
}

TEST(MappedLoader, ABudgetThatIsTooSmallIsRefused) {
  const Events events(heavy_tailed(20, 1));
  EXPECT_THROW(Loader(*events.data, {.batch = Samples{2}, .memory = 1000}), Error);
}

}  // namespace
}  // namespace headrace
