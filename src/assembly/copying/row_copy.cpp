#include "assembly/copying/row_copy.h"

#include <cstdint>
#include <cstring>

namespace headrace {
namespace {

template <std::size_t kBytes>
void copy_strided(std::byte* to, const std::byte* from, const RowGeometry::Loop& loop) {
  for (std::size_t i = 0; i < loop.count; ++i)
    std::memcpy(to + i * loop.dst_stride_bytes, from + i * loop.src_stride_bytes, kBytes);
}

void copy_nest(const RowGeometry& g, std::size_t depth, std::byte* to, const std::byte* from) {
  const RowGeometry::Loop& loop = g.loops[depth];
  if (depth + 1 < g.loops.size()) {
    for (std::size_t i = 0; i < loop.count; ++i)
      copy_nest(g, depth + 1, to + i * loop.dst_stride_bytes, from + i * loop.src_stride_bytes);
    return;
  }
  switch (g.run_bytes) {  // members of records
    case 1:
      return copy_strided<1>(to, from, loop);
    case 2:
      return copy_strided<2>(to, from, loop);
    case 4:
      return copy_strided<4>(to, from, loop);
    case 8:
      return copy_strided<8>(to, from, loop);
    default:
      for (std::size_t i = 0; i < loop.count; ++i)
        copy_run(to + i * loop.dst_stride_bytes, from + i * loop.src_stride_bytes, g.run_bytes);
  }
}

}  // namespace

void copy_row(const RowGeometry& g, std::byte* to, const std::byte* from) {
  to += g.dst_offset_bytes;
  from += g.src_offset_bytes;
  if (g.loops.empty())
    copy_run(to, from, g.run_bytes);
  else
    copy_nest(g, 0, to, from);
}

}  // namespace headrace
