#include "assembly/servers/box_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

namespace headrace {
namespace {

struct Drawn {
  CellGrid grid;
  BoxOverlap overlap;
  Axes box{};
  std::uint64_t cell_elements = 1, box_elements = 1;
};

/// Some part of a cell that lies somewhere in a box, with runs of up to some hundred bytes.
Drawn draw(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t n) { return random() % n; };
  Drawn d;
  d.grid.rank = 1 + below(4);
  d.grid.element_bytes = std::array{1, 2, 3, 4, 8, 16}[below(6)];
  for (std::size_t a = 0; a < d.grid.rank; ++a) {
    const bool innermost = a + 1 == d.grid.rank;
    d.overlap.count[a] = 1 + below(innermost ? 280 / d.grid.element_bytes : 4);
    const bool whole = below(3) == 0;  // axes that both sides have whole make longer runs
    const std::uint64_t before = whole ? 0 : below(4), in_box = whole ? 0 : below(4);
    d.grid.cell[a] = d.overlap.count[a] + before + (whole ? 0 : below(3));
    d.box[a] = d.overlap.count[a] + in_box + (whole ? 0 : below(3));
    d.overlap.cell_offset = d.overlap.cell_offset * d.grid.cell[a] + before;
    d.overlap.box_offset = d.overlap.box_offset * d.box[a] + in_box;
    d.cell_elements *= d.grid.cell[a];
    d.box_elements *= d.box[a];
  }
  d.grid.shape = d.grid.cell;
  return d;
}

/// The same, an element at a time.
void copy_elements(const Drawn& d, std::size_t axis, const std::byte* from, std::byte* to) {
  const std::uint64_t item = d.grid.element_bytes;
  std::uint64_t cell_stride = item, box_stride = item;
  for (std::size_t a = axis + 1; a < d.grid.rank; ++a) cell_stride *= d.grid.cell[a], box_stride *= d.box[a];
  for (std::uint64_t i = 0; i < d.overlap.count[axis]; ++i) {
    if (axis + 1 < d.grid.rank)
      copy_elements(d, axis + 1, from + i * cell_stride, to + i * box_stride);
    else
      std::copy_n(from + i * item, item, to + i * item);
  }
}

TEST(BoxCopy, CopiesWhatAnElementAtATimeDoes) {
  std::mt19937_64 random(11);
  for (int trial = 0; trial < 3000; ++trial) {
    const Drawn d = draw(random);
    const std::uint64_t item = d.grid.element_bytes;
    std::vector<std::byte> cell(d.cell_elements * item);
    for (std::byte& b : cell) b = static_cast<std::byte>(random());
    std::vector<std::byte> got(d.box_elements * item, std::byte{0xAA}), want = got;
    const BoxCopied copied = copy_box(d.grid, d.overlap, cell.data(), d.box, got.data());
    copy_elements(d, 0, cell.data() + d.overlap.cell_offset * item, want.data() + d.overlap.box_offset * item);
    ASSERT_EQ(got, want) << "trial " << trial;
    std::uint64_t bytes = item;
    for (std::size_t a = 0; a < d.grid.rank; ++a) bytes *= d.overlap.count[a];
    EXPECT_EQ(copied.bytes, bytes);
    EXPECT_EQ(copied.run_bytes, d.overlap.count[d.grid.rank - 1] * item);
    EXPECT_EQ(copied.first_from - cell.data(), static_cast<std::ptrdiff_t>(d.overlap.cell_offset * item));
    EXPECT_EQ(copied.first_to - got.data(), static_cast<std::ptrdiff_t>(d.overlap.box_offset * item));
  }
}

}  // namespace
}  // namespace headrace
