// Selections asked by number, against a list of their elements.
#include "format/hdf5/virtual/selection.h"

#include <random>

#include "format/hdf5/hdf5_testing.h"

namespace headrace::hdf5 {
namespace {

/// The selected indices of a plain list, in order.
std::vector<std::uint64_t> indices(const AxisSelection& axis) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t p = 0; p < axis.size(); ++p) out.push_back(axis.index(p));
  return out;
}

void expect_axis(const AxisSelection& axis, const std::vector<std::uint64_t>& expected) {
  EXPECT_EQ(indices(axis), expected);
  EXPECT_EQ(axis.end_index(), expected.empty() ? 0 : expected.back() + 1);
  for (std::uint64_t i = 0; i < axis.end_index() + 3; ++i)
    EXPECT_EQ(axis.position_of(i), std::ranges::lower_bound(expected, i) - expected.begin()) << i;
  for (std::uint64_t p = 0; p < axis.size(); ++p) {
    std::uint64_t run = 1;
    while (p + run < expected.size() && expected[p + run] == expected[p] + run) ++run;
    EXPECT_EQ(axis.run_from(p), run) << p;
  }
}

TEST(Selection, AnAxisIsBlocksOrRuns) {
  expect_axis({3, 5, 4, 2}, {3, 4, 8, 9, 13, 14, 18, 19});
  expect_axis({3, 2, 4, 2}, {3, 4, 5, 6, 7, 8, 9, 10});  // blocks that touch
  expect_axis({7, 1, 1, 3}, {7, 8, 9});
  expect_axis({7, 1, 0, 3}, {});
  expect_axis(AxisSelection({{1, 2}, {5, 1}, {9, 3}}), {1, 2, 5, 9, 10, 11});
  expect_axis(AxisSelection(std::vector<AxisSelection::Run>{{4, 3}}), {4, 5, 6});
  expect_axis(AxisSelection(2, 3, 2, 1).refined(3), {6, 7, 8, 15, 16, 17});
  expect_axis(AxisSelection({{1, 1}, {3, 2}}).refined(2), {2, 3, 6, 7, 8, 9});
  EXPECT_TRUE(AxisSelection::all(9).covers(9));
  EXPECT_TRUE(AxisSelection(0, 3, 3, 3).covers(9));
  EXPECT_FALSE(AxisSelection(1, 1, 1, 8).covers(9));
  EXPECT_FALSE(AxisSelection(1, 1, 1, 9).covers(9));
}

/// Row-major numbers of the elements by our own parts.
std::vector<std::uint64_t> elements(const Selection& s) {
  std::vector<std::uint64_t> out;
  for (const SelectionPart& part : s.parts) {
    EXPECT_EQ(part.first_rank, out.size());
    for (std::uint64_t rank = 0; rank < part.size; ++rank) {
      std::uint64_t left = rank, step = 1, element = 0;
      for (std::size_t d = part.axes.size(); d-- > 0; left /= part.axes[d].size(), step *= s.extent[d])
        if (part.axes[d].size() > 0) element += part.axes[d].index(left % part.axes[d].size()) * step;
      out.push_back(element);
    }
  }
  EXPECT_EQ(out.size(), s.size);
  return out;
}

TEST(Selection, UnionsOfBoxesAreReadInRowMajorOrder) {
  std::mt19937 random(3);
  for (int n = 0; n < 300; ++n) {
    const Shape extent{random() % 6 + 1, random() % 6 + 1, random() % 6 + 1};
    std::vector<bool> chosen(extent[0] * extent[1] * extent[2], false);
    const LibraryLock library;
    const Id space(H5Screate_simple(3, extent.data(), nullptr));
    for (unsigned i = 0; i <= random() % 4; ++i) {
      Shape start, count;
      for (const hsize_t e : extent) {
        start.push_back(random() % e);
        count.push_back(random() % (e - start.back()) + 1);
      }
      ASSERT_GE(H5Sselect_hyperslab(space.get(), i == 0 ? H5S_SELECT_SET : H5S_SELECT_OR, start.data(), nullptr,
                                    count.data(), nullptr),
                0);
      for (hsize_t a = start[0]; a < start[0] + count[0]; ++a)
        for (hsize_t b = start[1]; b < start[1] + count[1]; ++b)
          for (hsize_t c = start[2]; c < start[2] + count[2]; ++c) chosen[(a * extent[1] + b) * extent[2] + c] = true;
    }
    const auto selection = read_selection(library, space.get(), {extent.begin(), extent.end()});
    ASSERT_TRUE(selection.ok()) << selection.error().what();
    std::vector<std::uint64_t> expected;
    for (std::size_t i = 0; i < chosen.size(); ++i)
      if (chosen[i]) expected.push_back(i);
    EXPECT_EQ(elements(*selection), expected);
    for (std::uint64_t row = 0; row <= extent[0]; ++row) {
      const auto found = first_part_after(selection->parts, row);
      const auto slow = std::ranges::find_if(selection->parts, [&](const SelectionPart& part) {
        return part.axes[0].position_of(row) < part.axes[0].size();
      });
      ASSERT_EQ(found, slow);
      for (auto part = found; part != selection->parts.end() && part + 1 != selection->parts.end(); ++part)
        ASSERT_LE(part->axes[0].index(0), (part + 1)->axes[0].index(0)) << "reading ends at the first part beyond";
    }
  }
}

TEST(Selection, WhatReachesPastTheArrayIsRefused) {
  const LibraryLock library;
  const Shape extent{10, 4};
  const Id space(H5Screate_simple(2, extent.data(), nullptr));
  const Shape start{2, 1}, stride{3, 1}, count{3, 1}, block{1, 2};
  ASSERT_GE(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), stride.data(), count.data(), block.data()),
            0);
  const auto code = [&](const std::vector<std::uint64_t>& shape) {
    const auto selection = read_selection(library, space.get(), shape);
    return selection.ok() ? ErrorCode::kInternal : selection.error().code();
  };
  EXPECT_EQ(code({9, 3}), ErrorCode::kInternal);  // read
  EXPECT_EQ(code({8, 3}), ErrorCode::kCorruptData);
  EXPECT_EQ(code({9, 2}), ErrorCode::kCorruptData);
  EXPECT_EQ(code({9}), ErrorCode::kCorruptData);
  const hsize_t point[] = {1, 1};
  ASSERT_GE(H5Sselect_elements(space.get(), H5S_SELECT_SET, 1, point), 0);
  EXPECT_EQ(code({10, 4}), ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace headrace::hdf5
