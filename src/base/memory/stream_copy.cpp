#include "base/memory/stream_copy.h"

#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace headrace {

namespace {

constexpr std::size_t kLine = 64;

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

}  // namespace headrace
