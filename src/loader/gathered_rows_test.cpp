// Windows and spans of rows that all fit in memory: batches are gathered from there, from the first one on.
#include <gtest/gtest.h>
#include <headrace/loader.h>
#include <rapidcheck.h>

#include <random>

#include "catalog/samples/span_map.h"
#include "dataset/testing/mapped_data.h"

namespace headrace {
namespace {

using testing::Copy;
using testing::copy_of;
using testing::FakeFaults;

/// Two files of 900 and 700 rows in chunks of 50, with two columns.
class Data {
 public:
  static constexpr std::uint64_t kChunkIsBlock = 1500;  // numbers of a row, with which it is large enough

  /// \param width  Numbers in a row of the first column.
  explicit Data(Spans spans, std::uint64_t width = kChunkIsBlock, std::shared_ptr<const RowSet> chosen = nullptr)
      : set(make(testing::table_of({900, 700}, {{width, 50}, {3, 50}}, faults), std::move(spans), std::move(chosen),
                 num_blocks)) {}
  const std::shared_ptr<FakeFaults> faults = std::make_shared<FakeFaults>();
  std::uint64_t num_blocks = 0;
  Dataset set;

 private:
  static Dataset make(SourceGroup rows, Spans spans, std::shared_ptr<const RowSet> chosen, std::uint64_t& num_blocks) {
    num_blocks = rows.layout.table->num_blocks();
    auto map = std::make_shared<SpanMap>(SpanMap::Options{.block_samples = 8,
                                                          .rows = rows.layout.table,
                                                          .chosen = std::move(chosen),
                                                          .row_weight = row_weight(2),
                                                          .spans = std::move(spans)});
    return Dataset(Dataset::Impl::make(make_mapped_source(map, nullptr, {std::move(rows)}, "spans").value()));
  }
};

Spans windows(std::uint64_t stride = 5, std::uint64_t length = 17) {
  return Spans::windows({{0, 1600}}, stride, length);
}

/// Make spans of random lengths, some of them 0; every row is in one.
Spans runs(std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::uint64_t> starts{0};
  while (starts.back() < 1600) starts.push_back(std::min<std::uint64_t>(starts.back() + random() % 90, 1600));
  return Spans::between(std::move(starts));
}

std::vector<Copy> delivered(Loader& loader, int epochs) {
  std::vector<Copy> all;
  for (int e = 0; e < epochs; ++e)
    for (const Batch& batch : loader) all.push_back(copy_of(batch));
  return all;
}

TEST(GatheredRows, AreThoseThatAreDecodedAnew) {
  EXPECT_TRUE(rc::check([] {
    Spans spans = *rc::gen::arbitrary<bool>()
                      ? runs(*rc::gen::arbitrary<std::uint32_t>())
                      : windows(*rc::gen::inRange<std::uint64_t>(1, 60), *rc::gen::inRange<std::uint64_t>(1, 200));
    const Data data(std::move(spans), *rc::gen::element<std::uint64_t>(2, 300));
    LoaderOptions options{.batch = Samples{*rc::gen::inRange<std::uint64_t>(1, 40)}};
    options.cache.mode = CacheChoice::kNone;
    options.order = *rc::gen::element<Order>(InOrder{}, BlockShuffle{}, ExactShuffle{});
    if (*rc::gen::arbitrary<bool>()) options.rank = 1, options.world_size = 3;
    Loader anew(data.set, options);
    const std::vector<Copy> want = delivered(anew, 2);
    options.cache = {};
    options.threads = *rc::gen::inRange<std::uint32_t>(1, 5);
    Loader kept(data.set, options);
    RC_ASSERT(delivered(kept, 2) == want);
    RC_ASSERT(kept.explain().find("all of it fits the budget") != std::string::npos);
  }));
}

TEST(GatheredRows, AreDecodedOnceAndByTheBatchesThatNeedThem) {
  const Data data(windows());
  Loader loader(data.set, {.batch = Samples{4}, .order = BlockShuffle{}, .threads = 2});
  std::uint64_t batches = 0;
  for (const Batch& batch : loader) {
    EXPECT_LE(batch.rows(), 4u);
    if (batches++ > 0) continue;
    EXPECT_LT(loader.report().cache.blocks, data.num_blocks);
  }
  const Report one = loader.report();
  EXPECT_TRUE(one.cache.complete);
  EXPECT_EQ(one.cache.misses, data.num_blocks);
  EXPECT_EQ(one.chunks_decoded, 2 * data.num_blocks);
  EXPECT_DOUBLE_EQ(one.read_amplification, 1);
  (void)delivered(loader, 2);
  const Report three = loader.report();
  EXPECT_EQ(three.chunks_decoded, one.chunks_decoded);
  EXPECT_DOUBLE_EQ(three.read_amplification, 1.0 / 3);
}

TEST(GatheredRows, OfASelectionAreOnlyThoseThatItNeeds) {
  // Windows that lie in four blocks of the 32: those between them are decoded by no thread.
  std::vector<std::uint64_t> chosen;
  for (const std::uint64_t row : {100, 500, 950, 1300})
    for (std::uint64_t w = row / 5; 5 * w + 17 <= row + 50; ++w) chosen.push_back(w);
  for (const std::uint32_t threads : {1u, 4u}) {
    const Data data(windows(), Data::kChunkIsBlock, std::make_shared<RowSet>(windows().size(), chosen));
    Loader loader(data.set, {.batch = Samples{4}, .order = BlockShuffle{}, .threads = threads});
    (void)delivered(loader, 1);
    const Report one = loader.report();
    EXPECT_EQ(one.samples, chosen.size());
    EXPECT_EQ(one.chunks_decoded, 2 * 4);
    EXPECT_DOUBLE_EQ(one.read_amplification, 1);
  }
}

TEST(GatheredRows, ArePreloaded) {
  const Data data(windows());
  Loader loader(data.set, {.batch = Samples{9}, .order = BlockShuffle{}, .threads = 2});
  loader.preload();
  EXPECT_TRUE(loader.report().cache.complete);
  const std::uint64_t decoded = loader.report().chunks_decoded;
  EXPECT_EQ(decoded, 2 * data.num_blocks);
  (void)delivered(loader, 1);
  EXPECT_EQ(loader.report().chunks_decoded, decoded);
  EXPECT_DOUBLE_EQ(loader.report().read_amplification, 1);
  (void)delivered(loader, 1);
  EXPECT_DOUBLE_EQ(loader.report().read_amplification, 0.5);
  LoaderOptions options{.batch = Samples{9}};
  options.cache.mode = CacheChoice::kNone;
  try {
    Loader(data.set, options).preload();
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.hint().find("cache='auto' and more memory="), std::string::npos) << error.what();
  }
}

TEST(GatheredRows, ThatAreAllThereAreNotPreloadedAgain) {
  const Data data(windows());
  Loader loader(data.set, {.batch = Samples{9}, .order = BlockShuffle{}, .threads = 2});
  (void)delivered(loader, 1);
  Loader::Epoch epoch = loader.epoch();
  std::uint64_t samples = epoch.next()->rows();
  std::uint64_t done = 0, all = 0;
  loader.preload([&](std::uint64_t d, std::uint64_t a) { return done = d, all = a, true; });
  EXPECT_EQ(done, data.num_blocks);
  EXPECT_EQ(all, data.num_blocks);
  while (const auto batch = epoch.next()) samples += batch->rows();
  EXPECT_EQ(samples, data.set.size()) << "the epoch goes on";
}

TEST(GatheredRows, ThatAreDamagedAreRaisedWithTheFirstBatchThatHasThem) {
  for (const Order& shuffle : {Order(InOrder{}), Order(BlockShuffle{})}) {
    std::vector<std::pair<std::uint64_t, std::string>> before;
    for (const auto cache : {CacheChoice::kNone, CacheChoice::kAuto})
      for (const std::uint32_t threads : {1u, 3u}) {
        const Data data(windows());
        data.faults->bad_rows = {1234, 1171, 803, 419, 57};
        LoaderOptions options{.batch = Samples{10}, .order = shuffle, .seed = 8, .threads = threads};
        options.cache.mode = cache;
        Loader loader(data.set, options);
        auto& [samples, text] = before.emplace_back();
        try {
          for (const Batch& batch : loader) samples += batch.rows();
          ADD_FAILURE() << "nothing was raised";
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::kCorruptData);
          text = error.what();
        }
      }
    for (const auto& other : before) EXPECT_EQ(other, before[0]);
  }
}

}  // namespace
}  // namespace headrace
