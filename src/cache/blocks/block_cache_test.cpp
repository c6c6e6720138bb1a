#include "cache/blocks/block_cache.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <random>
#include <set>
#include <thread>

#include "base/machine/page_size.h"

namespace headrace {
namespace {

const std::uint64_t kRows = 64 * (page_bytes() / 4096);  // several pages, so that coding a block gives some back
const std::vector<StoredColumn> kFields{{"x", "x", {DType::Kind::kFloat, 4}, {16, 4}},
                                        {"y", "y", {DType::Kind::kInt, 8}, {}}};

/// Bytes of a block: mostly padding, like the jets', and different for each block.
std::vector<std::byte> block_of(const BlockForm& form, std::uint32_t block, std::uint64_t rows = kRows) {
  std::vector<std::byte> bytes(form.bytes(rows));
  std::mt19937 random(block);
  for (std::uint64_t i = 0; i < bytes.size(); i += 16) bytes[i] = static_cast<std::byte>(random());
  return bytes;
}

std::vector<std::byte> decoded(const BlockForm& form, std::uint64_t rows, const CodedBlock& coded,
                               std::span<const std::byte> bytes) {
  std::vector<std::byte> block(form.bytes(rows)), scratch(piece_scratch_bytes(form));
  for (std::size_t f = 0; f < form.num_fields(); ++f) {
    const Pieces pieces = Pieces::of(form, f);
    for (std::uint64_t p = 0; p < pieces.count(rows); ++p) {
      const auto piece = decode_piece(form, rows, coded, bytes, f, p, scratch);
      EXPECT_TRUE(piece.ok());
      EXPECT_EQ(piece->size(), pieces.size(p, rows));
      std::copy(piece->begin(), piece->end(), block.data() + form.offset(f, rows) + pieces.offset(p));
    }
  }
  return block;
}

struct Fixture {
  std::shared_ptr<MemoryBudget> budget = MemoryBudget::create("test", std::uint64_t{1} << 30);
  BlockForm form{kFields};
  std::uint64_t block_bytes = PageBuffer::charge_for(form.bytes(kRows));
  std::unique_ptr<BlockCache> cache;
  int decodes = 0;

  explicit Fixture(std::uint64_t blocks_held, std::uint64_t epoch_ticks = 1, BlockCoding coding = BlockCoding::kRaw) {
    cache = std::make_unique<BlockCache>(
        budget, BlockCache::Options{form, blocks_held * block_bytes, coding, 0.5, epoch_ticks});
  }
  /// As a decode thread does. \return Was it there?
  bool use(std::uint32_t block, std::uint64_t next_use) {
    std::shared_ptr<const KeptBlock> kept;
    const std::vector<std::byte> want = block_of(form, block);
    const BlockCache::Lookup found = cache->look_up(block, kRows, next_use, true, kept);
    if (found == BlockCache::Lookup::kHit) {
      std::vector<std::byte> got(kept->data.data(), kept->data.data() + kept->data.size_bytes());
      if (kept->coding != BlockCoding::kRaw) {
        got = decoded(form, kRows, kept->coded, kept->data.bytes());
      }
      for (std::size_t f = 0; f < form.num_fields(); ++f)
        EXPECT_EQ(std::memcmp(got.data() + form.offset(f, kRows), want.data() + form.offset(f, kRows),
                              kRows * form.row_bytes(f)),
                  0);
      return true;
    }
    ++decodes;
    std::vector<std::byte> spare(most_coded_bytes(form, kRows));
    if (found == BlockCache::Lookup::kFill) cache->put(block, kRows, next_use, want.data(), spare);
    return false;
  }
};

TEST(BlockCache, EarlierEpochsTakeThePlaceOfLaterOnes) {
  Fixture f(2, 100);
  EXPECT_FALSE(f.use(1, 110));
  EXPECT_FALSE(f.use(2, 250));  // of another rank in the next epoch
  EXPECT_FALSE(f.use(3, 160));  // 2 goes
  EXPECT_FALSE(f.use(4, 101));  // the same epoch as those that are here: not kept
  EXPECT_TRUE(f.use(1, 210));
  EXPECT_TRUE(f.use(3, 220));
  EXPECT_FALSE(f.use(2, 205));
  EXPECT_FALSE(f.use(5, 150));  // once more in this epoch: that is worth a decode more
  EXPECT_TRUE(f.use(5, 290));
  EXPECT_LE(f.cache->usage().peak_bytes, 2 * f.block_bytes);
}

TEST(BlockCache, WithoutAFutureWhatIsHereStays) {
  Fixture f(3);
  for (int round = 0; round < 5; ++round)
    for (std::uint32_t b = 0; b < 10; ++b) f.use(b, 0);
  EXPECT_EQ(f.decodes, 10 + 4 * 7);  // the most recent of 3 would have hit never
}

/// Hits of an epoch in random orders, each block once an epoch. Belady's rule: out goes the farthest next use.
double belady_hits(const std::vector<std::vector<std::uint32_t>>& order, std::size_t held) {
  const std::size_t blocks = order[0].size();
  std::set<std::pair<std::size_t, std::uint32_t>> kept;
  std::vector<std::size_t> next(blocks, 0);
  double hits = 0;
  for (std::size_t e = 0; e + 1 < order.size(); ++e) {
    std::vector<std::size_t> at(blocks);
    for (std::size_t i = 0; i < blocks; ++i) at[order[e + 1][i]] = (e + 1) * blocks + i;
    for (const std::uint32_t b : order[e]) {
      hits += e > 0 && kept.erase({next[b], b}) > 0;
      kept.erase({next[b], b});
      kept.insert({next[b] = at[b], b});
      if (kept.size() > held) kept.erase(std::prev(kept.end()));
    }
  }
  return hits / static_cast<double>(blocks * (order.size() - 2));
}

TEST(BlockCache, BeladysRuleWouldHitNoMoreThanTheShareThatFits) {
  constexpr std::uint32_t kBlocks = 400, kEpochs = 10;
  std::vector<std::vector<std::uint32_t>> order(kEpochs + 1, std::vector<std::uint32_t>(kBlocks));
  std::mt19937 random(7);
  for (auto& epoch : order) {
    for (std::uint32_t b = 0; b < kBlocks; ++b) epoch[b] = b;
    std::shuffle(epoch.begin(), epoch.end(), random);
  }
  for (const double share : {0.1, 0.3, 0.6}) {
    const auto held = static_cast<std::uint64_t>(share * kBlocks);
    Fixture f(held, kBlocks);
    int hits = 0;
    for (std::uint32_t e = 0; e < kEpochs; ++e)
      for (std::uint32_t i = 0; i < kBlocks; ++i) {
        const auto next = std::find(order[e + 1].begin(), order[e + 1].end(), order[e][i]) - order[e + 1].begin();
        hits += f.use(order[e][i], (e + 1) * kBlocks + static_cast<std::uint64_t>(next)) && e > 0;
      }
    EXPECT_NEAR(static_cast<double>(hits) / (kBlocks * (kEpochs - 1)), share, 1e-9);
    EXPECT_NEAR(belady_hits(order, held), share, 0.01);
    EXPECT_EQ(f.cache->usage().evictions, 0u);
  }
}

TEST(BlockCache, HoldsMoreBlocksEncoded) {
  for (const BlockCoding coding : kBlockCodings) {
    Fixture f(10, 1, coding);
    for (std::uint32_t b = 0; b < 40; ++b) f.use(b, 0);
    EXPECT_EQ(f.cache->usage().coding, coding);
    EXPECT_GT(f.cache->usage().blocks, 14u);
    EXPECT_LE(f.cache->usage().bytes, 10 * f.block_bytes);
    std::uint64_t hits = 0;
    for (std::uint32_t b = 0; b < 40; ++b) hits += f.use(b, 0);
    EXPECT_GE(hits, f.cache->usage().blocks);
  }
}

TEST(BlockCoder, ReencodesWhereDecodingFromTheFileCostsMore) {
  const CodingTrial lz4{BlockCoding::kLz4, 0.25, 400, 100};
  const std::span<const CodingTrial> trial{&lz4, 1};
  EXPECT_EQ(choose_coding(trial, {1000, 1, 0.33, 0.33}), &lz4);
  EXPECT_EQ(choose_coding(trial, {120, 1, 0.33, 0.33}), nullptr);  // what is quickly read
  EXPECT_EQ(choose_coding(trial, {150, 4, 0.33, 0.33}), &lz4);     // what would have to be decoded often
  EXPECT_EQ(choose_coding(trial, {1000, 1, 1, 1}), nullptr);       // what fits as it is
  EXPECT_EQ(choose_coding(trial, {1000, 1, 0, 0.9}), &lz4);        // a long window leaves nothing for decoded blocks
  const CodingTrial noise{BlockCoding::kLz4, 1.01, 400, 20};
  EXPECT_EQ(choose_coding({&noise, 1}, {1000, 1, 0.33, 0.33}), nullptr);
}

TEST(BlockCache, GivesMemoryBack) {
  Fixture f(10);
  for (std::uint32_t b = 0; b < 10; ++b) f.use(b, b);
  EXPECT_EQ(f.budget->snapshot().used_bytes, 10 * f.block_bytes);
  EXPECT_EQ(f.cache->reclaimable_bytes(), 10 * f.block_bytes);
  EXPECT_EQ(f.cache->reclaim(3 * f.block_bytes), 3 * f.block_bytes);
  EXPECT_EQ(f.budget->snapshot().used_bytes, 7 * f.block_bytes);
  EXPECT_FALSE(f.use(9, 9));  // the farthest went, and the cache does not grow back by itself
  EXPECT_TRUE(f.use(0, 50));
  f.cache->close();
  EXPECT_EQ(f.budget->snapshot().used_bytes, 0u);
  EXPECT_FALSE(f.use(0, 1));
}

TEST(BlockCache, ABudgetThatIsTakenByOthersIsNoError) {
  Fixture f(10);
  auto others = f.budget->try_reserve(MemoryTag::kOther, (std::uint64_t{1} << 30) - 4 * f.block_bytes);
  ASSERT_TRUE(others.ok());
  for (std::uint32_t b = 0; b < 10; ++b) f.use(b, 100 - b);
  EXPECT_LE(f.cache->usage().blocks, 4u);
  EXPECT_LE(f.budget->snapshot().used_bytes, std::uint64_t{1} << 30);
}

TEST(BlockCache, HeldBlocksOutliveTheirPlace) {
  Fixture f(1, 10);
  f.use(1, 20);
  std::shared_ptr<const KeptBlock> held;
  ASSERT_EQ(f.cache->look_up(1, kRows, 90, true, held), BlockCache::Lookup::kHit);
  f.use(2, 10);
  const auto want = block_of(f.form, 1);
  EXPECT_EQ(std::memcmp(held->data.data(), want.data(), kRows * f.form.row_bytes(0)), 0);
  EXPECT_EQ(f.budget->snapshot().used_bytes, 2 * f.block_bytes);
  held.reset();
  EXPECT_EQ(f.budget->snapshot().used_bytes, f.block_bytes);
}

TEST(BlockCache, FindsWhatIsHereAndHasBytes) {
  Fixture f(16);
  f.use(1, 20);
  ASSERT_NE(f.cache->find(1), nullptr);
  EXPECT_EQ(f.cache->find(1)->block, 1u);
  EXPECT_EQ(f.cache->usage().hits, 2u);
  const std::uint64_t misses = f.cache->usage().misses;
  EXPECT_EQ(f.cache->find(2), nullptr);
  std::shared_ptr<const KeptBlock> kept;
  ASSERT_EQ(f.cache->look_up(2, 0, 20, true, kept), BlockCache::Lookup::kFill);
  EXPECT_EQ(f.cache->find(2), nullptr);  // a thread is at it, which find() does not wait for
  f.cache->put(2, 0, 20, nullptr, {});
  EXPECT_EQ(f.cache->find(2), nullptr);  // nothing of it is kept
  EXPECT_EQ(f.cache->usage().hits, 2u);
  EXPECT_EQ(f.cache->usage().misses, misses + 1);
}

TEST(BlockCache, EachBlockIsDecodedByOneThread) {
  Fixture f(16);
  std::atomic<int> decodes{0}, hits{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      std::vector<std::byte> spare(most_coded_bytes(f.form, kRows));
      for (std::uint32_t b = 0; b < 16; ++b) {
        std::shared_ptr<const KeptBlock> kept;
        const BlockCache::Lookup found = f.cache->look_up(b, kRows, b, true, kept);
        if (found == BlockCache::Lookup::kHit) ++hits;
        if (found != BlockCache::Lookup::kFill) continue;
        ++decodes;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (b % 5 == 3 && decodes % 2 == 0)
          f.cache->abandon(b), --decodes;  // another thread's turn
        else
          f.cache->put(b, kRows, b, block_of(f.form, b).data(), spare);
      }
    });
  threads.clear();
  EXPECT_LE(decodes, 16);
  EXPECT_GE(hits, 40);
}

TEST(BlockCoder, EveryBlockComesBack) {
  EXPECT_TRUE(rc::check([] {
    std::vector<StoredColumn> fields;
    for (int i = *rc::gen::inRange(1, 4); i > 0; --i)
      fields.push_back(
          {"f",
           "f",
           {DType::Kind::kUInt, *rc::gen::element<std::uint32_t>(1, 2, 4, 8)},
           {*rc::gen::oneOf(rc::gen::inRange<std::uint64_t>(0, 50), rc::gen::inRange<std::uint64_t>(1000, 20000))}});
    const BlockForm form(fields);
    const std::uint64_t rows = *rc::gen::inRange<std::uint64_t>(0, form.bytes(1) > 1000 ? 5 : 200);
    std::vector<std::byte> block(form.bytes(rows)), back(form.bytes(rows)), spare(most_coded_bytes(form, rows));
    std::mt19937 random(*rc::gen::inRange(0, 1000));
    const int noise = *rc::gen::inRange(1, 20);
    for (std::byte& b : block) b = random() % noise == 0 ? static_cast<std::byte>(random()) : std::byte{0};
    const std::size_t padded = *rc::gen::inRange<std::size_t>(0, block.size() + 1);
    for (std::size_t i = padded; i < block.size(); ++i) block[i] = static_cast<std::byte>(i % 2);
    for (const BlockCoding coding : kBlockCodings) {
      const auto coded = encode_block(form, rows, coding, block.data(), spare);
      RC_ASSERT(coded.ok());
      back = decoded(form, rows, *coded, spare);
      for (std::size_t f = 0; f < form.num_fields(); ++f)
        RC_ASSERT(std::equal(block.begin() + form.offset(f, rows),
                             block.begin() + form.offset(f, rows) + rows * form.row_bytes(f),
                             back.begin() + form.offset(f, rows)));
    }
  }));
}

/// Cells of different sizes in one cache; one that is there without bytes takes no memory.
TEST(BlockCache, HoldsBlocksOfBytes) {
  const auto budget = MemoryBudget::create("test", std::uint64_t{1} << 20);
  BlockCache cache(budget, {BlockForm::of_bytes(), 3 * PageBuffer::charge_for(1), BlockCoding::kRaw, 1, 1});
  std::shared_ptr<const KeptBlock> kept;
  const std::vector<std::byte> cell(77, std::byte{7}), larger(PageBuffer::charge_for(1) + 1, std::byte{8});
  const auto keep = [&](std::uint32_t block, std::span<const std::byte> bytes) {
    if (cache.look_up(block, bytes.size(), 0, true, kept) != BlockCache::Lookup::kFill) return false;
    cache.put(block, bytes.size(), 0, bytes.data(), {});
    return true;
  };
  EXPECT_TRUE(keep(1, cell));
  EXPECT_TRUE(keep(2, larger));
  EXPECT_FALSE(keep(3, cell)) << "there is no room left";
  EXPECT_TRUE(keep(4, {}));
  ASSERT_EQ(cache.look_up(1, cell.size(), 0, true, kept), BlockCache::Lookup::kHit);
  EXPECT_TRUE(std::ranges::equal(kept->data.bytes(), cell));
  ASSERT_EQ(cache.look_up(2, larger.size(), 0, true, kept), BlockCache::Lookup::kHit);
  EXPECT_TRUE(std::ranges::equal(kept->data.bytes(), larger));
  ASSERT_EQ(cache.look_up(4, 0, 0, true, kept), BlockCache::Lookup::kHit);
  EXPECT_EQ(kept->rows, 0u);
  EXPECT_EQ(cache.usage().blocks, 3u);
  EXPECT_EQ(cache.usage().bytes, 3 * PageBuffer::charge_for(1));
}

TEST(BlockCache, KeptBlocksShareMappings) {
  const auto mappings = [] {
    std::ifstream maps("/proc/self/maps");
    std::uint64_t lines = 0;
    for (std::string line; std::getline(maps, line);) ++lines;
    return lines;
  };
  const std::vector<StoredColumn> fields{{"x", "x", {DType::Kind::kFloat, 4}, {600, 1024}}};
  const BlockForm form(fields);
  const std::vector<std::byte> block(form.bytes(1));  // 2.3 MiB
  constexpr std::uint32_t kBlocks = 60;
  BlockCache cache(MemoryBudget::create("test", std::uint64_t{1} << 30),
                   {form, kBlocks * PageBuffer::charge_for(block.size()), BlockCoding::kRaw, 1, 1});
  const std::uint64_t before = mappings();
  std::shared_ptr<const KeptBlock> kept;
  for (std::uint32_t b = 0; b < kBlocks; ++b) {
    ASSERT_EQ(cache.look_up(b, 1, 0, true, kept), BlockCache::Lookup::kFill);
    cache.put(b, 1, 0, block.data(), {});
  }
  EXPECT_EQ(cache.num_blocks(), kBlocks);
  EXPECT_LE(mappings(), before + kBlocks / 4);
}

}  // namespace
}  // namespace headrace
