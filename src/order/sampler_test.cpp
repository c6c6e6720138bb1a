#include "order/sampler.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <set>

namespace headrace {
namespace {

std::shared_ptr<const BlockTable> table(std::vector<BlockTable::FileBlocks> files) {
  return std::make_shared<BlockTable>(files);
}
std::shared_ptr<const BlockTable> random_table() {
  std::vector<BlockTable::FileBlocks> files;
  const auto n = *rc::gen::inRange(1, 6);
  for (int i = 0; i < n; ++i)
    files.push_back({*rc::gen::inRange<std::uint64_t>(0, 400), *rc::gen::inRange<std::uint64_t>(1, 50)});
  return table(files);
}
std::vector<std::vector<SampleRef>> epoch_batches(const Sampler& sampler, std::uint64_t epoch) {
  auto cursor = sampler.cursor(epoch);
  std::vector<std::vector<SampleRef>> batches;
  for (;;) {
    batches.emplace_back();
    cursor->next_batch(batches.back());
    if (batches.back().empty()) return batches.pop_back(), batches;
  }
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
    const auto blocks = random_table();
    const auto batch = *rc::gen::inRange<std::uint64_t>(1, 200);
    const Mix mix{*rc::gen::inRange<std::uint32_t>(1, 20), *rc::gen::inRange<std::uint32_t>(1, 6)};
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    check_permutation(*blocks, epoch_batches(*make_block_shuffle(blocks, batch, mix, seed), 3), batch);
    check_permutation(*blocks, epoch_batches(*make_global_shuffle(blocks, batch, seed), 3), batch);
    check_permutation(*blocks, epoch_batches(*make_sequential(blocks, batch), 3), batch);
  }));
}

TEST(Sampler, SeekGivesTheSameBatchesAsWalking) {
  EXPECT_TRUE(rc::check([] {
    const auto blocks = random_table();
    const auto batch = *rc::gen::inRange<std::uint64_t>(1, 100);
    const Mix mix{*rc::gen::inRange<std::uint32_t>(1, 20), *rc::gen::inRange<std::uint32_t>(1, 6)};
    for (const auto& sampler : {std::shared_ptr<Sampler>(make_block_shuffle(blocks, batch, mix, 5)),
                                std::shared_ptr<Sampler>(make_global_shuffle(blocks, batch, 5))}) {
      const auto batches = epoch_batches(*sampler, 2);
      if (batches.empty()) continue;
      const auto at = *rc::gen::inRange<std::size_t>(0, batches.size());
      auto cursor = sampler->cursor(2);
      cursor->seek(at);
      for (std::size_t i = at; i < batches.size(); ++i) {
        std::vector<SampleRef> got;
        cursor->next_batch(got);
        RC_ASSERT(got == batches[i]);
      }
    }
  }));
}

TEST(Sampler, SequentialIsFileOrder) {
  const auto blocks = table({{100, 30}, {7, 3}});
  std::uint64_t row = 0;
  for (const auto& batch : epoch_batches(*make_sequential(blocks, 16), 0))
    for (SampleRef s : batch) EXPECT_EQ(blocks->first_row(s.block) + s.row, row++);
}

TEST(Sampler, EpochsAndSeedsDiffer) {
  const auto blocks = table({{4096, 64}});
  const auto one = make_block_shuffle(blocks, 128, default_mix(*blocks, 128, 1000), 1);
  const auto two = make_block_shuffle(blocks, 128, default_mix(*blocks, 128, 1000), 2);
  EXPECT_NE(epoch_batches(*one, 0), epoch_batches(*one, 1));
  EXPECT_NE(epoch_batches(*one, 0), epoch_batches(*two, 0));
  EXPECT_EQ(epoch_batches(*one, 0), epoch_batches(*one, 0));
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
      const Mix mix = default_mix(*blocks, batch, 40712);
      const auto sampler = make_block_shuffle(blocks, batch, mix, 9);
      for (std::uint64_t epoch : {0u, 1u, 2u})
        EXPECT_LE(longest_span(epoch_batches(*sampler, epoch)), sampler->span_batches()) << rows << " " << batch;
    }
}

TEST(Mix, DependsOnTheCatalogAndTheBatchOnly) {
  const auto jets = table({{16384, 128}, {16384, 128}, {16384, 128}, {16384, 128}});
  EXPECT_EQ(default_mix(*jets, 512, 40712), (Mix{32, 4}));  // 667 MB mixed
  EXPECT_EQ(default_mix(*table({{3, 1}}), 512, 40712), (Mix{1, 3}));
  EXPECT_EQ(default_mix(BlockTable(), 512, 40712), Mix{});
  const Mix large = default_mix(*table({{10'000'000, 128}}), 4096, 40712);
  EXPECT_LE(large.streams, 64u);
  EXPECT_NEAR(static_cast<double>(large.mixed_blocks()) * 128 * 40712, 2.1e9, 2e8);
}

TEST(Mix, BatchesOfTheDefaultShuffleDrawFromEveryFileAlike) {
  const auto jets = table({{16384, 128}, {16384, 128}, {16384, 128}, {16384, 128}});
  const auto sampler = make_block_shuffle(jets, 512, default_mix(*jets, 512, 40712), 7);
  for (const auto& batch : epoch_batches(*sampler, 0)) {
    std::map<std::uint32_t, int> per_file;
    for (SampleRef s : batch) ++per_file[jets->place(s.block).file];
    ASSERT_EQ(per_file.size(), 4u);
    for (const auto& [file, count] : per_file) EXPECT_NEAR(count, 128, 17);  // a stream's share is 16
  }
}

}  // namespace
}  // namespace headrace
