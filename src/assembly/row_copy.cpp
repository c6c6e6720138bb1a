#include "assembly/row_copy.h"

#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace headrace {
namespace {

constexpr std::size_t kLine = 64;

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

#if defined(__SSE2__)
void copy_run(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes < kStreamingBytes) {
    std::memcpy(to, from, bytes);
    return;
  }
  // Whole lines are streamed; the ends share their lines with other rows and are stored plainly.
  const std::size_t head = (kLine - reinterpret_cast<std::uintptr_t>(to) % kLine) % kLine;
  std::memcpy(to, from, head);
  to += head, from += head, bytes -= head;
  for (; bytes >= kLine; to += kLine, from += kLine, bytes -= kLine) {
    const auto* source = reinterpret_cast<const __m128i*>(from);
    auto* target = reinterpret_cast<__m128i*>(to);
    const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1), c = _mm_loadu_si128(source + 2),
                  d = _mm_loadu_si128(source + 3);
    _mm_stream_si128(target, a);
    _mm_stream_si128(target + 1, b);
    _mm_stream_si128(target + 2, c);
    _mm_stream_si128(target + 3, d);
  }
  std::memcpy(to, from, bytes);
}
void finish_streaming() {
  _mm_sfence();
}
#else
void copy_run(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}
void finish_streaming() {}
#endif

void copy_row(const RowGeometry& g, std::byte* to, const std::byte* from) {
  to += g.dst_offset_bytes;
  from += g.src_offset_bytes;
  if (g.loops.empty())
    copy_run(to, from, g.run_bytes);
  else
    copy_nest(g, 0, to, from);
}

}  // namespace headrace
