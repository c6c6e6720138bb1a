#include "order/sampler.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <map>
#include <set>

#include "order/line_places.h"
#include "order/quality.h"
#include "order/testing/random_mixture.h"

namespace headrace {
namespace {

std::shared_ptr<const BlockTable> table(std::vector<BlockTable::FileBlocks> files) {
  return std::make_shared<BlockTable>(files);
}
std::shared_ptr<const BlockTable> any_table() {
  std::vector<BlockTable::FileBlocks> files;
  const auto n = *rc::gen::inRange(1, 6);
  for (int i = 0; i < n; ++i) {
    files.push_back({*rc::gen::inRange<std::uint64_t>(0, 400), *rc::gen::inRange<std::uint64_t>(1, 50)});
    if (*rc::gen::inRange(0, 3) == 0)  // blocks that differ in length
      for (std::uint64_t end = 0; end < files.back().rows;)
        files.back().ends.push_back(end = std::min(end + *rc::gen::inRange<std::uint64_t>(1, 60), files.back().rows));
  }
  const auto odds = *rc::gen::inRange(0, 20);
  if (odds == 0) return table(files);
  const std::uint64_t total = table(files)->num_rows();
  std::vector<std::uint64_t> rows;  // some of them chosen
  for (std::uint64_t r = 0; r < total; ++r)
    if (*rc::gen::inRange(0, odds) == 0) rows.push_back(r);
  return std::make_shared<BlockTable>(files, std::make_shared<RowSet>(total, rows));
}
std::vector<std::vector<SampleRef>> steps_of(const Sampler& sampler, const Walk& walk) {
  auto cursor = sampler.cursor(walk);
  std::vector<std::vector<SampleRef>> steps;
  std::vector<BlockRows> counted_elsewhere;
  const std::uint64_t left = sampler.num_samples() - std::min(walk.position, sampler.num_samples());
  for (std::uint64_t i = 0; i < (left + walk.global_batch - 1) / walk.global_batch; ++i)
    cursor->next_step(steps.emplace_back(), counted_elsewhere);
  std::vector<SampleRef> after;
  cursor->next_step(after, counted_elsewhere);
  EXPECT_TRUE(after.empty());
  return steps;
}
std::vector<std::vector<SampleRef>> epoch_batches(const Sampler& sampler, std::uint64_t epoch, std::uint64_t batch) {
  return steps_of(sampler, {.epoch = epoch, .global_batch = batch});
}
std::vector<std::shared_ptr<const Sampler>> all_orders(const std::shared_ptr<const BlockTable>& blocks,
                                                       std::uint64_t seed) {
  const BlockShuffleShape shape{*rc::gen::inRange<std::uint32_t>(1, 40), *rc::gen::inRange<std::uint32_t>(1, 6)};
  return {make_block_shuffle(blocks, shape, seed), make_global_shuffle(blocks, seed), make_sequential(blocks)};
}
void check_permutation(const BlockTable& blocks, const std::vector<std::vector<SampleRef>>& batches,
                       std::uint64_t batch) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    RC_ASSERT(batches[i].size() == batch || i + 1 == batches.size());
    for (SampleRef s : batches[i]) {
      RC_ASSERT(s.block < blocks.num_blocks());
      RC_ASSERT(s.row < blocks.block_rows(s.block));
      RC_ASSERT(seen.insert({s.block, s.row}).second);
    }
  }
  RC_ASSERT(seen.size() == blocks.num_rows());
}

TEST(Sampler, EveryOrderIsAPermutationOfEveryTable) {
  EXPECT_TRUE(rc::check([] {
    const auto blocks = any_table();
    const auto batch = *rc::gen::inRange<std::uint64_t>(1, 200);
    for (const auto& sampler : all_orders(blocks, *rc::gen::arbitrary<std::uint64_t>()))
      check_permutation(*blocks, epoch_batches(*sampler, 3, batch), batch);
  }));
}

TEST(Sampler, RanksCutEveryGlobalBatchIntoContiguousParts) {
  EXPECT_TRUE(rc::check([] {
    const auto blocks = any_table();
    const auto batch = *rc::gen::inRange<std::uint64_t>(1, 200);
    const auto world = *rc::gen::inRange<std::uint32_t>(1, 9);
    const auto position = *rc::gen::inRange<std::uint64_t>(0, blocks->num_rows() + 1);
    auto orders = all_orders(blocks, 7);
    if (blocks->num_rows() > 0) orders.push_back(random_mixture(blocks));
    for (const auto& sampler : orders) {
      const Walk walk{.epoch = 2, .position = position, .global_batch = batch};
      const auto whole = steps_of(*sampler, walk);
      std::vector<std::vector<SampleRef>> joined(whole.size());
      for (std::uint32_t r = 0; r < world; ++r) {
        Walk mine = walk;
        mine.share = {r, world};
        const auto steps = steps_of(*sampler, mine);
        RC_ASSERT(steps.size() == whole.size());
        for (std::size_t i = 0; i < steps.size(); ++i) {
          if (batch % world == 0 && whole[i].size() == batch) RC_ASSERT(steps[i].size() == batch / world);
          joined[i].insert(joined[i].end(), steps[i].begin(), steps[i].end());
        }
      }
      RC_ASSERT(joined == whole);
    }
  }));
}

TEST(Sampler, AWalkGoesOnFromAnyPositionWithAnyBatchSize) {
  EXPECT_TRUE(rc::check([] {
    const auto blocks = any_table();
    const auto first = *rc::gen::inRange<std::uint64_t>(1, 100), second = *rc::gen::inRange<std::uint64_t>(1, 100);
    for (const auto& sampler : all_orders(blocks, 5)) {
      auto steps = steps_of(*sampler, {.epoch = 1, .global_batch = first});
      const auto keep = *rc::gen::inRange<std::size_t>(0, steps.size() + 1);
      const std::uint64_t position = std::min(keep * first, blocks->num_rows());
      const auto same = steps_of(*sampler, {.epoch = 1, .position = position, .global_batch = first});
      RC_ASSERT(std::equal(same.begin(), same.end(), steps.begin() + static_cast<long>(keep), steps.end()));
      const auto rest = steps_of(*sampler, {.epoch = 1, .position = position, .global_batch = second});
      std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
      steps.resize(keep);
      steps.insert(steps.end(), rest.begin(), rest.end());
      for (const auto& step : steps)
        for (SampleRef s : step) RC_ASSERT(seen.insert({s.block, s.row}).second);
      RC_ASSERT(seen.size() == blocks->num_rows());
    }
  }));
}

TEST(Mixture, GoesOnFromAnyPositionOfAnyEpochAndUsesEveryRowEquallyOften) {
  EXPECT_TRUE(rc::check([] {
    const auto blocks = any_table();
    if (blocks->num_rows() == 0) return;
    const auto mixture = random_mixture(blocks);
    const auto batch = *rc::gen::inRange<std::uint64_t>(1, 50);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> times;
    for (std::uint64_t epoch = 0; epoch < 6; ++epoch) {
      const auto steps = steps_of(*mixture, {.epoch = epoch, .global_batch = batch});
      const auto keep = *rc::gen::inRange<std::size_t>(0, steps.size() + 1);
      const std::uint64_t position = std::min(keep * batch, mixture->num_samples());
      const auto rest = steps_of(*mixture, {.epoch = epoch, .position = position, .global_batch = batch});
      RC_ASSERT(std::equal(rest.begin(), rest.end(), steps.begin() + static_cast<long>(keep), steps.end()));
      for (const auto& step : steps)
        for (const SampleRef s : step) ++times[{s.block, s.row}];
    }
    for (std::size_t f = 0; f < blocks->num_files(); ++f) {  // rows of one part, the unseen among them
      std::uint64_t least = ~std::uint64_t{0}, most = 0;
      const BlockTable part = blocks->of_files(f, 1);
      for (std::uint64_t b = 0; b < part.num_blocks(); ++b)
        for (std::uint32_t r = 0; r < part.block_rows(b); ++r) {
          const std::uint64_t n = times[{static_cast<std::uint32_t>(blocks->first_block_of(f) + b), r}];
          least = std::min(least, n), most = std::max(most, n);
        }
      if (part.num_rows() > 0) RC_ASSERT(most - least <= 1u);
    }
  }));
}

TEST(Sampler, ABlockIsDoneWithWhenSoManyRowsWereGivenOrPassed) {
  EXPECT_TRUE(rc::check([] {
    const auto blocks = any_table();
    const auto batch = *rc::gen::inRange<std::uint64_t>(1, 200);
    const auto position = *rc::gen::inRange<std::uint64_t>(0, blocks->num_rows() + 1);
    const std::uint32_t world = *rc::gen::element(1u, 2u, 4u);  // ranks own whole streams
    const BlockShuffleShape shape{*rc::gen::element(4u, 8u, 12u), *rc::gen::inRange<std::uint32_t>(1, 6)};
    const RankShare share{*rc::gen::inRange<std::uint32_t>(0, world), world};
    for (const auto& sampler : {std::shared_ptr<const Sampler>(make_block_shuffle(blocks, shape, 3)),
                                std::shared_ptr<const Sampler>(make_sequential(blocks))}) {
      auto cursor = sampler->cursor({.epoch = 4, .position = position, .global_batch = batch, .share = share});
      std::map<std::uint32_t, std::uint64_t> counted;
      std::set<std::uint32_t> asked;
      for (std::uint64_t n = position; n < blocks->num_rows(); n += batch) {
        std::vector<SampleRef> out;
        std::vector<BlockRows> counted_elsewhere;
        cursor->next_step(out, counted_elsewhere);
        for (SampleRef s : out) asked.insert(s.block);
        for (const SampleRef s : out) ++counted[s.block];
        for (const BlockRows s : counted_elsewhere) counted[s.block] += s.rows;
      }
      for (std::uint32_t block : asked) RC_ASSERT(counted[block] == cursor->rows_in(block));
    }
  }));
}

TEST(Sampler, SequentialIsFileOrder) {
  const auto blocks = table({{100, 30}, {7, 3}});
  std::uint64_t row = 0;
  for (const auto& batch : epoch_batches(*make_sequential(blocks), 0, 16))
    for (SampleRef s : batch) EXPECT_EQ(blocks->first_row(s.block) + s.row, row++);
}

TEST(Sampler, EpochsAndSeedsDiffer) {
  const auto blocks = table({{4096, 64}});
  const auto one = make_block_shuffle(blocks, {16, 1}, 1);
  const auto two = make_block_shuffle(blocks, {16, 1}, 2);
  EXPECT_NE(epoch_batches(*one, 0, 128), epoch_batches(*one, 1, 128));
  EXPECT_NE(epoch_batches(*one, 0, 128), epoch_batches(*two, 0, 128));
  EXPECT_EQ(epoch_batches(*one, 0, 128), epoch_batches(*one, 0, 128));
}

/// Batches from the first to the last use of a block, over all blocks.
std::uint64_t longest_span(const std::vector<std::vector<SampleRef>>& batches) {
  std::map<std::uint32_t, std::pair<std::size_t, std::size_t>> use;
  for (std::size_t i = 0; i < batches.size(); ++i)
    for (SampleRef s : batches[i]) {
      auto [it, fresh] = use.try_emplace(s.block, i, i);
      it->second.second = i;
    }
  std::uint64_t longest = 0;
  for (const auto& [block, range] : use) longest = std::max<std::uint64_t>(longest, range.second - range.first + 1);
  return longest;
}

TEST(Sampler, BlocksAreUsedWithinTheStatedSpan) {
  for (std::uint64_t rows : {512 * 128ul, 513 * 128ul, 512 * 128ul + 17})
    for (std::uint64_t batch : {100ul, 512ul, 1000ul}) {
      const auto blocks = table({{rows / 2, 128}, {rows - rows / 2, 128}});
      const BlockShuffleShape shape = default_shuffle(*blocks, batch, 40712).value();
      const auto sampler = make_block_shuffle(blocks, shape, 9);
      for (std::uint64_t epoch : {0u, 1u, 2u})
        EXPECT_LE(longest_span(epoch_batches(*sampler, epoch, batch)), sampler->span_steps(batch, {}))
            << rows << " " << batch;
    }
}

using Shape = std::optional<BlockShuffleShape>;

TEST(DefaultShuffle, SmallDataIsPermuted) {
  EXPECT_EQ(default_shuffle(*table({{1000, 1000}, {1000, 1000}}), 64, 256), Shape());
  EXPECT_EQ(default_shuffle(*table({{1 << 20, 1024}}), 64, 256), Shape());  // 256 MiB
  EXPECT_NE(default_shuffle(*table({{(1 << 20) + 1, 1024}}), 64, 256), Shape());
  EXPECT_EQ(default_shuffle(*table({{3, 1}}), 512, 40712), Shape());
  EXPECT_EQ(default_shuffle(BlockTable(), 512, 40712), Shape());
  // So is data of up to a gibibyte where so many streams would hold half of it.
  EXPECT_EQ(default_shuffle(*table({{500 * 1024, 1024}}), 512, 2048), Shape());
  EXPECT_NE(default_shuffle(*table({{500 * 1024, 512}}), 256, 2048), Shape());
  EXPECT_NE(default_shuffle(*table({{500 * 1024, 1024}}), 512, 2048, 0.5), Shape());  // half of a mixture
}

TEST(ShuffleOfBytes, MixesSoManyAndPermutesWhereTheyAreAll) {
  const auto blocks = table({{160 * 100, 100}});
  constexpr std::uint64_t kRowBytes = 1000, kAll = 160 * 100 * kRowBytes;
  for (const std::uint64_t batch : {8, 64, 512}) {
    EXPECT_EQ(shuffle_of_bytes(*blocks, kAll, kRowBytes, batch), Shape());
    EXPECT_EQ(shuffle_of_bytes(*blocks, ~std::uint64_t{0}, kRowBytes, batch), Shape());
    for (const std::uint64_t bytes : {kAll - 1, kAll / 2, kAll / 7, std::uint64_t{1}}) {
      const std::uint64_t mixed = shuffle_of_bytes(*blocks, bytes, kRowBytes, batch).value().mixed_blocks();
      EXPECT_LE((mixed - 1) * 100 * kRowBytes, bytes);
      EXPECT_GE(2 * mixed * 100 * kRowBytes, bytes);
    }
  }
  EXPECT_EQ(shuffle_of_bytes(BlockTable(), 1, kRowBytes, 64), Shape());
}

TEST(DefaultShuffle, HasAsManyStreamsAsTheBatchHasSamplesWhereMemoryAllows) {
  const auto shape_of = [](std::uint64_t blocks, std::uint64_t rows, std::uint64_t batch, std::uint64_t row_bytes) {
    return default_shuffle(*table({{blocks * rows, rows}}), batch, row_bytes).value();
  };
  EXPECT_EQ(shape_of(100'000, 128, 64, 40'712), (BlockShuffleShape{64, 1}));    // 5 MB a block
  EXPECT_EQ(shape_of(100'000, 128, 512, 40'712), (BlockShuffleShape{192, 1}));  // of a gibibyte
  EXPECT_EQ(shape_of(100'000, 128, 5632, 40'712), (BlockShuffleShape{192, 1}));
  EXPECT_EQ(shape_of(100'000, 8192, 512, 40'712), (BlockShuffleShape{3, 1}));  // 318 MiB a block
  EXPECT_EQ(shape_of(100'000, 512, 512, 1024), (BlockShuffleShape{512, 1}));   // 512 KiB
  EXPECT_EQ(shape_of(100'000, 512, 330, 2048), (BlockShuffleShape{384, 1}));   // 512 would be more than needed
  EXPECT_EQ(shape_of(100'000, 512, 32, 1024), (BlockShuffleShape{128, 4}));    // 256 MiB in four times the batch
  EXPECT_EQ(shape_of(100'000'000, 16, 100'000, 1024), (BlockShuffleShape{65'536, 1}));
}

/// Deff of the default order, over some epochs.
OrderQuality mean_quality(const std::shared_ptr<const BlockTable>& blocks, std::uint64_t batch,
                          std::uint64_t row_bytes) {
  constexpr std::uint64_t kEpochs = 24;
  const Shape shape = default_shuffle(*blocks, batch, row_bytes);
  OrderQuality mean;
  mean.block_effect = mean.file_effect = 0;
  for (std::uint64_t seed = 0; seed < kEpochs; ++seed) {
    const auto sampler = shape ? make_block_shuffle(blocks, *shape, seed) : make_global_shuffle(blocks, seed);
    const OrderQuality quality = measure_order(*sampler, *blocks, batch, {}, 0);
    mean.block_effect += quality.block_effect / kEpochs;
    mean.file_effect += quality.file_effect / kEpochs;
  }
  return mean;
}

TEST(DefaultShuffle, MixesLabelsThatAreConstantInBlocksAndFiles) {
  std::vector<BlockTable::FileBlocks> ten(10, {6000, 64}), hundred(100, {700, 64}), unequal;
  for (std::uint64_t f = 0; f < 40; ++f) unequal.push_back({500 + 97 * f % 2000, 16 + 37 * f % 96});
  for (const auto& files : {ten, hundred, unequal})
    for (const std::uint64_t batch : {32u, 100u, 256u}) {
      const auto blocks = table(files);
      // A gibibyte holds enough blocks: 1 to 4 MB each.
      const OrderQuality quality = mean_quality(blocks, batch, 16 << 10);
      EXPECT_LE(quality.block_effect, 1.1) << files.size() << " files, batch " << batch;
      EXPECT_LE(quality.file_effect, 1.1) << files.size() << " files, batch " << batch;
    }
}

TEST(BlockShuffle, RanksAndPartsOfABatchSeeAllOfTheData) {
  const auto blocks = table(std::vector<BlockTable::FileBlocks>(64, {4096, 16}));  // a class a file
  for (const std::uint32_t streams : {512u, 384u, 256u}) {
    const auto sampler = make_block_shuffle(blocks, {streams, 1}, 3);
    for (const std::uint32_t world : {1u, 2u, 3u, 8u}) {
      const OrderQuality rank = measure_order(*sampler, *blocks, 384, {1 % world, world}, 0);
      EXPECT_LE(rank.file_effect, 1.1) << streams << " streams, " << world << " ranks";
    }
    // A quarter of a batch, as it is accumulated.
    GroupSpread parts(std::vector<std::uint64_t>(64, 4096));
    for (const auto& batch : epoch_batches(*sampler, 1, 256))
      for (std::size_t part = 0; part < 4; ++part) {
        std::vector<std::uint32_t> files;
        for (std::size_t i = part * 64; i < part * 64 + 64; ++i) files.push_back(blocks->place(batch[i].block).file);
        parts.add(files);
      }
    EXPECT_LE(parts.design_effect(), 0.8) << streams;
  }
}

TEST(BlockShuffle, StreamsThatFollowEachOtherLieApart) {
  EXPECT_TRUE(rc::check([] {
    const StreamShares shares(*rc::gen::inRange<std::uint32_t>(1, 700), 1'000'000);
    const LinePieces pieces(shares);
    std::set<std::uint32_t> places;
    for (std::uint32_t v = 0; v < shares.streams(); ++v) {
      places.insert(pieces.place(v));
      RC_ASSERT(pieces.stream(pieces.place(v)) == v);
      RC_ASSERT(pieces.begin(pieces.place(v) + 1) - pieces.begin(pieces.place(v)) == shares.length(v));
    }
    RC_ASSERT(places.size() == shares.streams());
    RC_ASSERT(pieces.begin(shares.streams()) == 1'000'000u);
    // The mean place of the first half of the streams is near the middle, as of ones that are drawn.
    double sum = 0;
    const std::uint32_t half = shares.streams() / 2;
    for (std::uint32_t v = 0; v < half; ++v) sum += pieces.place(v) + 0.5;
    if (half >= 8) RC_ASSERT(std::abs(sum / half / shares.streams() - 0.5) < 1.0 / std::sqrt(half));
  }));
}

TEST(BlockShuffle, ARankTakesOnlyFromStreamsThatItSaysItHas) {
  EXPECT_TRUE(rc::check([] {
    const auto blocks = any_table();
    const BlockShuffleShape shape{*rc::gen::inRange<std::uint32_t>(1, 60), 1};
    const auto batch = *rc::gen::inRange<std::uint64_t>(1, 200);
    const auto world = *rc::gen::inRange<std::uint32_t>(2, 9);
    const RankShare share{*rc::gen::inRange<std::uint32_t>(0, world), world};
    const auto sampler = make_block_shuffle(blocks, shape, 3);
    const auto cursor = sampler->cursor({.epoch = 4, .global_batch = batch, .share = share});
    std::map<std::uint32_t, std::uint64_t> given;
    for (std::uint64_t step = 0; step < blocks->num_rows() / batch; ++step) {
      std::vector<SampleRef> out;
      std::vector<BlockRows> counted_elsewhere;
      cursor->next_step(out, counted_elsewhere);
      for (const SampleRef s : out) ++given[s.block];
    }
    for (const auto& [block, rows] : given) RC_ASSERT(rows <= cursor->rows_in(block));
  }));
}

TEST(BlockShuffle, PoolsOfEveryBlockSpanTheEpoch) {
  const auto blocks = std::make_shared<BlockTable>(std::vector<BlockTable::FileBlocks>{{1000, 10}});
  const std::uint32_t most = 0xFFFFFFFF;
  const auto largest = make_block_shuffle(blocks, {1, most}, 1), large = make_block_shuffle(blocks, {1, most - 1}, 1);
  EXPECT_EQ(largest->span_steps(10, {}), large->span_steps(10, {}));
  EXPECT_GE(largest->span_steps(10, {}), 100u);
}

TEST(BlockShuffle, TellsWhatItsPoolsTake) {
  const auto blocks = std::make_shared<BlockTable>(std::vector<BlockTable::FileBlocks>{{60'000, 600}});
  const std::uint64_t listed = 4 * 10 * 600 * sizeof(std::uint16_t);  // four streams, pools of ten blocks
  const std::uint64_t told = make_block_shuffle(blocks, {4, 10}, 1)->memory_bytes({});
  EXPECT_GE(told, listed);
  EXPECT_LE(told, listed + 16'384);
  // Pools of millions of small rows list none of them.
  const auto small = std::make_shared<BlockTable>(std::vector<BlockTable::FileBlocks>{{100'000'000, 131'072}});
  EXPECT_LE(make_block_shuffle(small, {8, 90}, 1)->memory_bytes({}), 2u << 20);
}

}  // namespace
}  // namespace headrace
