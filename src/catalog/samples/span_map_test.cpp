#include "catalog/samples/span_map.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace headrace {
namespace {

/// Windows as a loop lists them: first row of each, and how many there are of each stretch.
struct Listed {
  std::vector<std::uint64_t> begins, sizes;
};
Listed listed(const std::vector<RowRange>& stretches, std::uint64_t stride, std::uint64_t length) {
  Listed all;
  for (const RowRange rows : stretches) {
    const std::size_t before = all.begins.size();
    for (std::uint64_t at = 0; at + length <= rows.count; at += stride) all.begins.push_back(rows.first + at);
    all.sizes.push_back(all.begins.size() - before);
  }
  return all;
}

/// \param most_between  Rows of no stretch, before each of them.
std::vector<RowRange> random_stretches(std::uint64_t most_between) {
  std::vector<RowRange> stretches;
  std::uint64_t rows = 0;
  for (int n = *rc::gen::inRange(1, 5); n > 0; --n) {
    rows += *rc::gen::inRange<std::uint64_t>(0, most_between + 1);
    stretches.push_back({rows, *rc::gen::inRange<std::uint64_t>(0, 150)});
    rows = stretches.back().end();
  }
  return stretches;
}

TEST(Spans, WindowsAreThoseOfALoop) {
  EXPECT_TRUE(rc::check([] {
    const std::vector<RowRange> stretches = random_stretches(30);
    const std::uint64_t stride = *rc::gen::inRange(1, 40), length = *rc::gen::inRange(1, 60);
    const Listed want = listed(stretches, stride, length);
    const Spans spans = Spans::windows(stretches, stride, length);
    RC_ASSERT(spans.size() == want.begins.size());
    RC_ASSERT(spans.stretch_sizes() == want.sizes);
    for (std::uint64_t i = 0; i < spans.size(); ++i) {
      RC_ASSERT(spans.begin(i) == want.begins[i]);
      RC_ASSERT(spans.end(i) == want.begins[i] + length);
    }
    for (std::uint64_t row = 0; row <= stretches.back().end(); ++row) {
      const auto number = [&](auto&& is) {
        return static_cast<std::uint64_t>(std::ranges::find_if(want.begins, is) - want.begins.begin());
      };
      RC_ASSERT(spans.first_beginning_at(row) == number([&](std::uint64_t b) { return b >= row; }));
      RC_ASSERT(spans.first_ending_behind(row) == number([&](std::uint64_t b) { return b + length > row; }));
    }
  }));
}

/// In a map of chosen windows expand() fills each, and blocks_of() mirrors units_of(), which has every unit of a part.
TEST(SpanMap, ChosenWindowsAreMadeOfTheirRows) {
  EXPECT_TRUE(rc::check([] {
    const std::vector<RowRange> stretches = random_stretches(0);
    const std::uint64_t stride = *rc::gen::inRange(1, 40), length = *rc::gen::inRange(1, 60);
    const Listed all = listed(stretches, stride, length);
    if (all.begins.empty()) RC_DISCARD("no window fits");
    std::vector<std::uint64_t> some;
    for (std::uint64_t i = 0; i < all.begins.size(); ++i)
      if (*rc::gen::inRange(0, 3) == 0) some.push_back(i);
    if (some.empty()) some.push_back(all.begins.size() - 1);
    std::vector<BlockTable::FileBlocks> files;
    const std::uint64_t block_rows = *rc::gen::inRange(1, 70);
    for (const RowRange rows : stretches) files.push_back({rows.count, block_rows});
    const auto blocks = std::make_shared<const BlockTable>(files);
    const SpanMap map({.block_samples = *rc::gen::inRange<std::uint64_t>(1, 9),
                       .rows = blocks,
                       .chosen = std::make_shared<const RowSet>(all.begins.size(), some),
                       .row_weight = 1,
                       .spans = Spans::windows(stretches, stride, length)});
    const BlockTable& shuffled = *map.shuffle_blocks();
    RC_ASSERT(shuffled.num_rows() == some.size());
    std::set<std::pair<std::uint32_t, std::uint32_t>> by_block, by_unit;
    for (std::uint64_t i = 0; i < some.size(); ++i) {
      const BlockTable::RowPlace at = shuffled.find(i);
      const SampleRef sample{static_cast<std::uint32_t>(at.block), at.row_in_block};
      RC_ASSERT(map.rows_of(sample) == (RowRange{all.begins[some[i]], length}));
      std::vector<Part> parts;
      std::vector<std::uint32_t> ends;
      map.expand({&sample, 1}, {}, parts, ends);
      std::uint64_t place = 0;
      for (const Part& part : parts) {
        RC_ASSERT(part.place == place);
        RC_ASSERT(blocks->stored_rows(part.unit).first + part.row == all.begins[some[i]] + place);
        RC_ASSERT(part.row + part.count <= blocks->block_rows(part.unit));
        place += part.count;
        std::vector<std::uint32_t> units;
        map.units_of(sample.block, {}, units);
        RC_ASSERT(std::ranges::find(units, part.unit) != units.end());
      }
      RC_ASSERT(place == length);
    }
    std::vector<std::uint32_t> named;
    for (std::uint32_t block = 0; block < shuffled.num_blocks(); ++block) {
      named.clear(), map.units_of(block, {}, named);
      for (const std::uint32_t unit : named) RC_ASSERT(by_block.emplace(block, unit).second);
    }
    for (std::uint32_t unit = 0; unit < map.num_units(); ++unit) {
      named.clear(), map.blocks_of(unit, named);
      for (const std::uint32_t block : named) RC_ASSERT(by_unit.emplace(block, unit).second);
    }
    RC_ASSERT(by_block == by_unit);
  }));
}

/// The units that shuffle blocks name, and the shuffle blocks that units name, as pairs.
std::pair<std::set<std::pair<std::uint32_t, std::uint32_t>>, std::set<std::pair<std::uint32_t, std::uint32_t>>>
mirrored(const SpanMap& map) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> by_block, by_unit;
  std::vector<std::uint32_t> named;
  for (std::uint32_t block = 0; block < map.shuffle_blocks()->num_blocks(); ++block) {
    named.clear(), map.units_of(block, {}, named);
    for (const std::uint32_t unit : named) RC_ASSERT(by_block.emplace(block, unit).second);
  }
  for (std::uint32_t unit = 0; unit < map.num_units(); ++unit) {
    named.clear(), map.blocks_of(unit, named);
    for (const std::uint32_t block : named) RC_ASSERT(by_unit.emplace(block, unit).second);
  }
  return {by_block, by_unit};
}

/// Runs of rows in files, some of which are no samples, with a table beside them that has a row a sample, or a row a
/// row.
TEST(SpanMap, ListedSpansHaveTheirRowsTheirFileAndTheirTarget) {
  EXPECT_TRUE(rc::check([] {
    std::vector<std::uint64_t> starts, file_ends, file_rows, named;
    std::vector<std::uint32_t> file_of;
    std::vector<BlockTable::FileBlocks> files;
    const std::uint64_t block_rows = *rc::gen::inRange(1, 30);
    const bool by_row = *rc::gen::arbitrary<bool>();
    std::uint64_t row = 0;
    for (int n = *rc::gen::inRange(1, 4), f = 0; f < n; ++f) {
      file_rows.push_back(row);
      for (int runs = *rc::gen::inRange(0, 12); runs >= 0; --runs) {
        // A run that is no sample has rows; a sample may have none, but for a target of its first row.
        const bool is_sample = runs == 0 || *rc::gen::inRange(0, 4) != 0;
        if (is_sample) named.push_back(starts.size());
        file_of.push_back(static_cast<std::uint32_t>(f));
        starts.push_back(row);
        row += *rc::gen::inRange<std::uint64_t>(is_sample && !by_row && runs > 0 ? 0 : 1, 50);
      }
      file_ends.push_back(starts.size());
      files.push_back({row - file_rows.back(), block_rows});
    }
    starts.push_back(row);
    std::vector<std::uint64_t> chosen;
    for (const std::uint64_t run : named)
      if (*rc::gen::inRange(0, 3) != 0) chosen.push_back(run);
    if (chosen.empty()) chosen.push_back(named.back());
    const auto blocks = std::make_shared<const BlockTable>(files);
    const std::vector<BlockTable::FileBlocks> beside{{by_row ? row : named.size(), 1 + block_rows / 2}};
    const auto side = std::make_shared<const BlockTable>(beside);
    const SpanMap map({.block_samples = *rc::gen::inRange<std::uint64_t>(1, 9),
                       .rows = blocks,
                       .side = side,
                       .sided = std::make_shared<const RowSet>(starts.size() - 1, named),
                       .side_by_row = by_row,
                       .file_ends = file_ends,
                       .file_rows = file_rows,
                       .chosen = std::make_shared<const RowSet>(starts.size() - 1, chosen),
                       .row_weight = 1,
                       .side_weight = 1,
                       .spans = Spans::between(starts)});
    const BlockTable& shuffled = *map.shuffle_blocks();
    RC_ASSERT(shuffled.num_rows() == chosen.size());
    for (std::uint64_t i = 0; i < chosen.size(); ++i) {
      const std::uint64_t run = chosen[i];
      const BlockTable::RowPlace at = shuffled.find(i);
      const SampleRef sample{static_cast<std::uint32_t>(at.block), at.row_in_block};
      const std::optional<SampleMap::FileRow> origin = map.file_row_of(sample);
      RC_ASSERT(origin->file == file_of[run]);
      RC_ASSERT(origin->row == starts[run] - file_rows[file_of[run]]);
      std::vector<Part> parts;
      std::vector<std::uint32_t> ends, units;
      map.expand({&sample, 1}, {}, parts, ends);
      const auto target = static_cast<std::uint64_t>(std::ranges::find(named, run) - named.begin());
      const Part last = parts.back();
      parts.pop_back();
      RC_ASSERT(side->stored_rows(last.unit - blocks->num_blocks()).first + last.row ==
                (by_row ? starts[run] : target));
      std::uint64_t place = 0;
      map.units_of(sample.block, {}, units);
      RC_ASSERT(std::ranges::find(units, last.unit) != units.end());
      for (const Part& part : parts) {
        RC_ASSERT(part.place == place);
        RC_ASSERT(blocks->stored_rows(part.unit).first + part.row == starts[run] + place);
        place += part.count;
        RC_ASSERT(std::ranges::find(units, part.unit) != units.end());
      }
      RC_ASSERT(place == starts[run + 1] - starts[run]);
      std::vector<std::uint64_t> lengths;
      map.lengths({&sample, 1}, 0, lengths);
      RC_ASSERT(lengths == std::vector{place});
    }
    const auto [by_block, by_unit] = mirrored(map);
    RC_ASSERT(by_block == by_unit);
  }));
}

}  // namespace
}  // namespace headrace
