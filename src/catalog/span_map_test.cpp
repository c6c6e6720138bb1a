#include "catalog/span_map.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
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

std::vector<RowRange> random_stretches() {
  std::vector<RowRange> stretches;
  std::uint64_t rows = 0;
  for (int n = *rc::gen::inRange(1, 5); n > 0; --n) {
    stretches.push_back({rows, *rc::gen::inRange<std::uint64_t>(0, 150)});
    rows = stretches.back().end();
  }
  return stretches;
}

TEST(Spans, WindowsAreThoseOfALoop) {
  EXPECT_TRUE(rc::check([] {
    const std::vector<RowRange> stretches = random_stretches();
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

/// In a map of chosen windows expand() fills each, and homes_of() mirrors units_of(), which has every unit of a part.
TEST(SpanMap, ChosenWindowsAreMadeOfTheirRows) {
  EXPECT_TRUE(rc::check([] {
    const std::vector<RowRange> stretches = random_stretches();
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
    const SpanMap map({.home_samples = *rc::gen::inRange<std::uint64_t>(1, 9),
                       .rows = blocks,
                       .chosen = std::make_shared<const RowSet>(all.begins.size(), some),
                       .row_weight = 1,
                       .spans = Spans::windows(stretches, stride, length)});
    const BlockTable& homes = *map.shuffle_blocks();
    RC_ASSERT(homes.num_rows() == some.size());
    std::set<std::pair<std::uint32_t, std::uint32_t>> by_home, by_unit;
    for (std::uint64_t i = 0; i < some.size(); ++i) {
      const BlockTable::RowPlace at = homes.find(i);
      const SampleRef sample{static_cast<std::uint32_t>(at.block), at.row_in_block};
      RC_ASSERT(map.rows_of(sample) == (RowRange{all.begins[some[i]], length}));
      std::vector<Part> parts;
      std::vector<std::uint32_t> ends;
      map.expand({&sample, 1}, parts, ends);
      std::uint64_t place = 0;
      for (const Part& part : parts) {
        RC_ASSERT(part.place == place);
        RC_ASSERT(blocks->stored_rows(part.unit).first + part.row == all.begins[some[i]] + place);
        RC_ASSERT(part.row + part.count <= blocks->block_rows(part.unit));
        place += part.count;
        std::vector<std::uint32_t> units;
        map.units_of(sample.block, units);
        RC_ASSERT(std::ranges::find(units, part.unit) != units.end());
      }
      RC_ASSERT(place == length);
    }
    std::vector<std::uint32_t> named;
    for (std::uint32_t home = 0; home < homes.num_blocks(); ++home) {
      named.clear(), map.units_of(home, named);
      for (const std::uint32_t unit : named) RC_ASSERT(by_home.emplace(home, unit).second);
    }
    for (std::uint32_t unit = 0; unit < map.num_units(); ++unit) {
      named.clear(), map.homes_of(unit, named);
      for (const std::uint32_t home : named) RC_ASSERT(by_unit.emplace(home, unit).second);
    }
    RC_ASSERT(by_home == by_unit);
  }));
}

}  // namespace
}  // namespace headrace
