// StridedCopy against an index for each element.
#include "transform/strided_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

namespace headrace {
namespace {

TEST(StridedCopy, EqualsALoopOverElements) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    const std::size_t rank = random() % 5, item = std::vector<std::size_t>{1, 2, 3, 4, 8, 12}[random() % 6];
    std::vector<std::uint64_t> shape(rank);
    // Long enough for several vectors, and for parts of a plane, in some rounds; strides of whole pages in others.
    const std::size_t most = round % 8 == 0 && rank <= 3 ? 140 : 5;
    for (auto& extent : shape) extent = 1 + random() % most;
    if (round % 64 == 0 && rank == 3) shape = {70, 4096 / (64 * item) + 1, 64};
    const std::vector<std::int64_t> dense = dense_strides(shape, item);
    const std::uint64_t bytes = std::accumulate(shape.begin(), shape.end(), std::uint64_t{item}, std::multiplies<>());
    std::vector<std::byte> source(bytes);
    for (std::byte& b : source) b = static_cast<std::byte>(random());
    // A box of the source, its axes in any order, each of them forwards or backwards.
    std::vector<std::size_t> axes(rank);
    std::iota(axes.begin(), axes.end(), 0u);
    if (random() % 3 != 0) std::shuffle(axes.begin(), axes.end(), random);
    std::vector<std::uint64_t> extents;
    std::vector<std::int64_t> strides;
    std::int64_t first = 0;
    for (const std::size_t axis : axes) {
      const std::uint64_t begin = random() % 3 == 0 ? random() % shape[axis] : 0;
      const std::uint64_t count = random() % 3 == 0 ? 1 + random() % (shape[axis] - begin) : shape[axis] - begin;
      const bool backwards = random() % 4 == 0;
      extents.push_back(count);
      strides.push_back(backwards ? -dense[axis] : dense[axis]);
      first += static_cast<std::int64_t>(backwards ? begin + count - 1 : begin) * dense[axis];
    }
    const std::uint64_t elements =
        std::accumulate(extents.begin(), extents.end(), std::uint64_t{1}, std::multiplies<>());
    std::vector<std::byte> want(elements * item + 1, std::byte{0xAA}), got = want;
    for (std::uint64_t e = 0; e < elements; ++e) {
      std::int64_t at = first;
      std::uint64_t rest = e;
      for (std::size_t axis = rank; axis-- > 0; rest /= extents[axis])
        at += static_cast<std::int64_t>(rest % extents[axis]) * strides[axis];
      std::memcpy(want.data() + e * item, source.data() + at, item);
    }
    StridedCopy(extents, strides, item).run(got.data(), source.data() + first);
    ASSERT_EQ(got, want) << "round " << round;
  }
}

}  // namespace
}  // namespace headrace
