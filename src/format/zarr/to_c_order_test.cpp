#include "format/zarr/to_c_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace headrace::zarr {
namespace {

/// Where element `at` (C order) is stored.
std::size_t stored_at(std::size_t at, const std::vector<std::uint64_t>& shape, const std::vector<std::size_t>& order) {
  std::vector<std::size_t> index(shape.size());
  for (std::size_t d = shape.size(); d-- > 0; at /= shape[d]) index[d] = at % shape[d];
  std::size_t place = 0;
  for (const std::size_t axis : order) place = place * shape[axis] + index[axis];
  return place;
}

TEST(ToCOrder, EveryOrderOfEveryRank) {
  for (const std::vector<std::uint64_t>& shape :
       {std::vector<std::uint64_t>{5}, {3, 40}, {40, 3}, {17, 33, 5}, {2, 3, 4, 5}, {1, 7, 1}})
    for (const std::size_t bytes : {1, 2, 3, 4, 8, 16}) {
      std::vector<std::size_t> order(shape.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      const std::size_t n = std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
      do {
        std::vector<std::byte> in(n * bytes), want(n * bytes), out(n * bytes);
        for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::byte>(i * 37 + i / 251);
        for (std::size_t i = 0; i < n; ++i)
          std::copy_n(in.begin() + static_cast<std::ptrdiff_t>(stored_at(i, shape, order) * bytes), bytes,
                      want.begin() + static_cast<std::ptrdiff_t>(i * bytes));
        to_c_order(in, shape, order, bytes, out);
        ASSERT_EQ(out, want);
      } while (std::ranges::next_permutation(order).found);
    }
}

}  // namespace
}  // namespace headrace::zarr
