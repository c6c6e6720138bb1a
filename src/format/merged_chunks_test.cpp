#include "format/merged_chunks.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <set>

namespace headrace {
namespace {

struct Grid {
  std::vector<std::uint64_t> shape, chunk;
  std::size_t axes;
};

std::uint64_t product(const std::vector<std::uint64_t>& v, std::size_t begin, std::size_t end) {
  std::uint64_t n = 1;
  for (std::size_t d = begin; d < end; ++d) n *= v[d];
  return n;
}

/// Where a row lies, worked out from its coordinates: the chunk across the row 0, and its cell there.
std::pair<std::uint64_t, std::uint64_t> place(const Grid& g, std::uint64_t row) {
  std::uint64_t cell = 0, index = 0;
  std::vector<std::uint64_t> at(g.axes);
  for (std::size_t d = g.axes; d-- > 0; row /= g.shape[d]) at[d] = row % g.shape[d];
  for (std::size_t d = 0; d < g.shape.size(); ++d) {
    const std::uint64_t chunks = (g.shape[d] + g.chunk[d] - 1) / g.chunk[d];
    cell = cell * chunks + (d < g.axes ? at[d] / g.chunk[d] : 0);
    if (d < g.axes) index = index * g.chunk[d] + at[d] % g.chunk[d];
  }
  return {cell, index};
}

void check(const Grid& g, std::mt19937& random) {
  const MergedChunks chunks(g.shape, g.chunk, g.axes);
  const std::uint64_t rows = product(g.shape, 0, g.axes);
  std::vector<std::uint64_t> all;
  chunks.cells_of({0, rows}, all);
  EXPECT_TRUE(std::ranges::is_sorted(all));
  std::vector<int> seen(rows, 0);
  for (const std::uint64_t cell : all) {
    const RowRange range = chunks.rows_of(cell);
    std::vector<PieceRun> runs;
    chunks.runs_of(cell, runs);
    if (runs.empty()) runs.push_back({range.first, range.count, 0});
    EXPECT_EQ(runs.front().first, range.first);
    EXPECT_EQ(runs.back().first + runs.back().count, range.end());
    std::uint64_t behind = 0;
    for (const PieceRun& run : runs) {
      EXPECT_GE(run.first, behind);
      behind = run.first + run.count;
      for (std::uint64_t i = 0; i < run.count; ++i) {
        const auto [expected, index] = place(g, run.first + i);
        EXPECT_EQ(cell / chunks.across() * chunks.across(), expected);
        EXPECT_EQ(run.index + i, index);
        if (cell % chunks.across() == 0) ++seen[run.first + i];
      }
    }
  }
  EXPECT_EQ(std::accumulate(seen.begin(), seen.end(), std::uint64_t{0}), rows);
  EXPECT_EQ(std::set<int>(seen.begin(), seen.end()), std::set<int>{1});

  // No chunk of some rows is left out, and what decodes together never shares a chunk.
  const std::uint64_t first = random() % rows, count = 1 + random() % (rows - first);
  std::vector<std::uint64_t> some;
  chunks.cells_of({first, count}, some);
  for (std::uint64_t row = first; row < first + count; ++row)
    EXPECT_TRUE(std::ranges::binary_search(some, place(g, row).first));
  std::vector<std::uint64_t> ends;
  const std::uint64_t together = chunks.rows_together(1 << 20, ends);
  if (ends.empty())
    for (std::uint64_t end = together; end < rows + together; end += together) ends.push_back(std::min(end, rows));
  EXPECT_EQ(ends.back(), rows);
  for (const std::uint64_t cell : all) {
    const RowRange range = chunks.rows_of(cell);
    const auto of = [&](std::uint64_t row) { return std::ranges::upper_bound(ends, row) - ends.begin(); };
    EXPECT_EQ(of(range.first), of(range.end() - 1));
  }
}

TEST(MergedChunks, EveryRowIsInOneChunkAcross) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 300; ++trial) {
    Grid g;
    g.axes = 1 + random() % 4;
    for (std::size_t d = 0; d < g.axes + random() % 3; ++d) {
      g.shape.push_back(1 + random() % 6);
      g.chunk.push_back(1 + random() % (g.shape.back() + 1));  // chunks may be longer than an axis that can grow
    }
    while (g.shape.size() < g.axes) g.shape.push_back(1), g.chunk.push_back(1);
    SCOPED_TRACE(::testing::Message() << trial);
    check(g, random);
  }
}

TEST(MergedChunks, ChunksOfWholeRecordingsAreOneRun) {
  const MergedChunks chunks({100, 79, 3, 32}, {8, 79, 3, 32}, 3);
  std::vector<PieceRun> runs;
  chunks.runs_of(5, runs);
  EXPECT_TRUE(runs.empty());
  EXPECT_EQ(chunks.rows_of(5), (RowRange{std::uint64_t{5} * 8 * 237, 8 * 237}));
}

}  // namespace
}  // namespace headrace
