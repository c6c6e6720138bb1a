#include "order/grouped.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>

namespace headrace {
namespace {

using Numbers = std::vector<std::uint64_t>;

struct Made {
  std::shared_ptr<const BlockTable> blocks;
  std::shared_ptr<const GroupTable> groups;
};

/// Files of some rows, and groups that are the files or smaller.
Made random_groups() {
  std::vector<BlockTable::FileBlocks> files;
  for (int n = *rc::gen::inRange(1, 5); n > 0; --n)
    files.push_back({*rc::gen::inRange<std::uint64_t>(0, 60), *rc::gen::inRange<std::uint64_t>(1, 20)});
  files.push_back({*rc::gen::inRange<std::uint64_t>(1, 60), 7});
  Made made{std::make_shared<const BlockTable>(files), nullptr};
  GroupTable table = groups_by_file(*made.blocks);
  if (*rc::gen::arbitrary<bool>()) {
    Numbers starts = table.starts;
    for (std::uint64_t row = 0; row < made.blocks->num_rows(); row += *rc::gen::inRange<std::uint64_t>(1, 9))
      starts.push_back(row);
    std::sort(starts.begin(), starts.end());
    starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
    table = {"event", starts, {}, starts.size() - 1};
    for (std::uint64_t g = 0; g + 1 < starts.size(); ++g) table.numbers.push_back(static_cast<std::int64_t>(g));
  }
  made.groups = std::make_shared<const GroupTable>(std::move(table));
  return made;
}

GroupLimits random_limits() {
  return {*rc::gen::inRange<std::uint64_t>(1, 70), *rc::gen::inRange<std::uint64_t>(0, 6)};
}

TEST(Grouped, EveryRowComesOnceWithItsGroupAndBatchesHoldWhatFits) {
  EXPECT_TRUE(rc::check([] {
    const Made made = random_groups();
    const GroupLimits limits = random_limits();
    const std::uint64_t most = limits.items;
    const bool shuffle = *rc::gen::arbitrary<bool>();
    const Grouped grouped(made.blocks, made.groups, limits, shuffle, 3);
    const auto epoch = grouped.group_epoch(*rc::gen::inRange<std::uint64_t>(0, 3));
    const std::uint64_t total = made.blocks->num_rows();
    std::vector<SampleRef> samples;
    epoch->append({0, total}, samples);
    std::vector<std::int64_t> numbers(total), offsets;
    epoch->number({0, total}, numbers.data(), offsets);
    RC_ASSERT(samples.size() == total);
    std::vector<bool> seen(total, false);
    for (std::uint64_t i = 0; i < total; ++i) {
      const std::uint64_t row = made.blocks->first_row(samples[i].block) + samples[i].row;
      RC_ASSERT(row == epoch->row_at(i));
      RC_ASSERT(!seen[row]);
      seen[row] = true;
      const auto g =
          static_cast<std::size_t>(std::upper_bound(made.groups->starts.begin(), made.groups->starts.end(), row) -
                                   made.groups->starts.begin() - 1);
      RC_ASSERT(numbers[i] == made.groups->numbers[g]);
      if (i > 0 && numbers[i] == numbers[i - 1])
        RC_ASSERT(row == epoch->row_at(i - 1) + 1);  // rows of a group stay in order
    }
    // Batches: nothing more would have fitted, and whole groups only, but for those that are too large.
    const auto ends = epoch->batch_ends();
    RC_ASSERT(ends.back() == total);
    std::uint64_t begin = 0;
    for (std::size_t b = 0; b < ends.size(); begin = ends[b++]) {
      RC_ASSERT(ends[b] > begin);
      RC_ASSERT(ends[b] - begin <= most);
      const auto of_batch = [&](std::int64_t o) {
        return o > static_cast<std::int64_t>(begin) && o < static_cast<std::int64_t>(ends[b]);
      };
      const auto groups = static_cast<std::uint64_t>(std::ranges::count_if(offsets, of_batch)) + 1;
      RC_ASSERT(limits.groups == 0 || groups <= limits.groups);
      if (ends[b] == total) break;
      const auto group_end = std::upper_bound(offsets.begin(), offsets.end(), static_cast<std::int64_t>(ends[b]));
      const std::uint64_t next = static_cast<std::uint64_t>(*group_end),
                          own = static_cast<std::uint64_t>(group_end[-1]);
      if (own == ends[b])
        RC_ASSERT(next - begin > most || groups == limits.groups);  // the next group would not have fitted
      else
        RC_ASSERT(ends[b] - begin == most || next - own > most);
    }
    std::uint64_t largest = 0;
    for (std::size_t b = 0; b < ends.size(); ++b) largest = std::max(largest, ends[b] - (b ? ends[b - 1] : 0));
    RC_ASSERT(grouped.most_batch_rows() >= largest);
  }));
}

TEST(Grouped, BlocksAreFoundWhereTheirRowsCome) {
  EXPECT_TRUE(rc::check([] {
    const Made made = random_groups();
    const auto grouped =
        std::make_shared<const Grouped>(made.blocks, made.groups, random_limits(), *rc::gen::arbitrary<bool>(), 5);
    const auto world = *rc::gen::inRange<std::uint32_t>(1, 4);
    const RankShare share{*rc::gen::inRange<std::uint32_t>(0, world), world};
    const CutSteps steps(grouped, grouped, share);
    const auto position = steps.position_of(1, *rc::gen::inRange<std::uint64_t>(0, steps.num_steps(1)));
    const auto walk = steps.cursor(1, position);
    std::map<std::uint32_t, std::uint64_t> rows;
    std::uint64_t most_span = 0;
    std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> spans;
    const std::uint64_t left = steps.steps_after(1, position);
    for (std::uint64_t s = 0; s < left; ++s) {
      std::vector<SampleRef> samples;
      std::vector<BlockRows> counted_elsewhere;
      bool counted = false;
      walk->next(samples, counted_elsewhere, counted);
      if (!counted) continue;  // a sample once more, for a rank that would have none
      for (const SampleRef sample : samples) {
        ++rows[sample.block];
        const auto at = spans.try_emplace(sample.block, s, s).first;
        at->second.second = s;
        most_span = std::max(most_span, s - at->second.first + 1);
      }
    }
    for (std::uint32_t b = 0; b < made.blocks->num_blocks(); ++b) RC_ASSERT(walk->rows_in(b) == rows[b]);
    RC_ASSERT(most_span <= steps.span_steps());
  }));
}

TEST(Grouped, FilesWithoutRowsAreLeftOut) {
  const BlockTable blocks({{5, 2}, {0, 2}, {3, 2}});
  const GroupTable groups = groups_by_file(blocks);
  EXPECT_EQ(groups.starts, (Numbers{0, 5, 8}));
  EXPECT_EQ(groups.numbers, (std::vector<std::int64_t>{0, 2}));
  EXPECT_EQ(groups.num_numbers, 3U);
}

TEST(Grouped, ShufflesDifferByEpochAndSeedAlone) {
  const auto blocks = std::make_shared<const BlockTable>(std::vector<BlockTable::FileBlocks>(40, {3, 2}));
  const auto groups = std::make_shared<const GroupTable>(groups_by_file(*blocks));
  const auto first_rows = [&](std::uint64_t seed, std::uint64_t epoch, std::uint64_t most) {
    const Grouped grouped(blocks, groups, {most, 0}, true, seed);
    Numbers rows;
    for (std::uint64_t i = 0; i < 120; i += 3) rows.push_back(grouped.group_epoch(epoch)->row_at(i));
    return rows;
  };
  EXPECT_EQ(first_rows(1, 0, 5), first_rows(1, 0, 50));
  EXPECT_NE(first_rows(1, 0, 5), first_rows(1, 1, 5));
  EXPECT_NE(first_rows(1, 0, 5), first_rows(2, 0, 5));
}

}  // namespace
}  // namespace headrace
