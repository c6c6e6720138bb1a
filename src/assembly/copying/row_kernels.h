// The kernels that copy one row, and how they are chosen: once for each source and field, not for each row.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "assembly/copying/row_copy.h"
#include "assembly/window/copy_digest.h"
#include "base/random/divisor.h"
#include "catalog/row_geometry.h"

namespace headrace {

/// Rows of a size that the compiler knows.
template <std::size_t kBytes>
struct FixedCopy {
  void operator()(std::byte* to, const std::byte* from) const { std::memcpy(to, from, kBytes); }
};
struct RunCopy {
  std::size_t bytes;
  void operator()(std::byte* to, const std::byte* from) const { copy_run(to, from, bytes); }
};
/// Rows that lie in strides, or partly.
struct NestCopy {
  const RowGeometry& geometry;
  void operator()(std::byte* to, const std::byte* from) const { copy_row(geometry, to, from); }
};

inline bool lies_dense(const RowGeometry& g, std::size_t row_bytes) {
  return g.loops.empty() && g.src_offset_bytes == 0 && g.dst_offset_bytes == 0 && g.run_bytes == row_bytes;
}

/// Divisors that turn an address into a number of a row: sizes that the compiler knows, or that follow from the data.
template <class RowDivisor>
struct Divisors {
  RowDivisor stride, row_bytes;
};

/// Call `work` with the kernel for rows of this shape, and what tells them from addresses. \param geometry  How a row
/// lies in the source; null: dense.
template <class Work>
void with_kernel(const RowsAt& from, const RowGeometry* geometry, const Divisor& row_bytes, Work work) {
  const std::uint64_t bytes = row_bytes.value(), apart = std::max<std::size_t>(from.stride_bytes, 1);
  const Divisors<Divisor> any{apart == bytes ? row_bytes : Divisor(apart), row_bytes};
  if (geometry && !lies_dense(*geometry, bytes)) return work(NestCopy{*geometry}, any);
  if (apart != bytes) return work(RunCopy{bytes}, any);
  const auto fixed = [&]<std::size_t kBytes>(FixedCopy<kBytes> copy) { work(copy, Divisors<KnownDivisor<kBytes>>{}); };
  switch (bytes) {
    case 1:
      return fixed(FixedCopy<1>{});
    case 2:
      return fixed(FixedCopy<2>{});
    case 4:
      return fixed(FixedCopy<4>{});
    case 8:
      return fixed(FixedCopy<8>{});
    case 16:
      return fixed(FixedCopy<16>{});
    case 32:
      return fixed(FixedCopy<32>{});
    case 64:
      return fixed(FixedCopy<64>{});
    case 128:
      return fixed(FixedCopy<128>{});
    default:
      return work(RunCopy{bytes}, any);
  }
}

}  // namespace headrace
