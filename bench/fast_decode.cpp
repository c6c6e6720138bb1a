#include "fast_decode.h"

#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace bench {
namespace {

#ifdef __SSE2__
/// 16 elements of 4 bytes at a time: two rounds of interleaving.
std::size_t unshuffle4_sse2(const std::byte* in, std::size_t elements, std::byte* out) {
  const auto load = [&](std::size_t plane, std::size_t i) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + plane * elements + i));
  };
  std::size_t i = 0;
  for (; i + 16 <= elements; i += 16) {
    const __m128i a = load(0, i), b = load(1, i), c = load(2, i), d = load(3, i);
    const __m128i ab_low = _mm_unpacklo_epi8(a, b), ab_high = _mm_unpackhi_epi8(a, b);
    const __m128i cd_low = _mm_unpacklo_epi8(c, d), cd_high = _mm_unpackhi_epi8(c, d);
    auto* to = reinterpret_cast<__m128i*>(out + 4 * i);
    _mm_storeu_si128(to, _mm_unpacklo_epi16(ab_low, cd_low));
    _mm_storeu_si128(to + 1, _mm_unpackhi_epi16(ab_low, cd_low));
    _mm_storeu_si128(to + 2, _mm_unpacklo_epi16(ab_high, cd_high));
    _mm_storeu_si128(to + 3, _mm_unpackhi_epi16(ab_high, cd_high));
  }
  return i;
}
#endif

}  // namespace

void unshuffle(const std::byte* in, std::size_t bytes, std::size_t element_bytes, std::byte* out) {
  const std::size_t elements = bytes / element_bytes;
  std::size_t from = 0;
#ifdef __SSE2__
  if (element_bytes == 4) from = unshuffle4_sse2(in, elements, out);
#endif
  for (std::size_t i = from; i < elements; ++i) {
    for (std::size_t k = 0; k < element_bytes; ++k) out[i * element_bytes + k] = in[k * elements + i];
  }
  const std::size_t whole = elements * element_bytes;
  std::memcpy(out + whole, in + whole, bytes - whole);
}

std::size_t lzf_decompress(const std::byte* in, std::size_t in_bytes, std::byte* out, std::size_t out_bytes) {
  const std::byte* const in_end = in + in_bytes;
  std::byte* to = out;
  std::byte* const end = out + out_bytes;
  while (in < in_end) {
    const auto control = std::to_integer<std::size_t>(*in++);
    if (control < 32) {
      const std::size_t run = control + 1;
      if (in + run > in_end || to + run > end) return 0;
      if (in + 32 <= in_end) {
        std::memcpy(to, in, 32);  // whole vectors, whatever the length: there is slack after `end`
      } else {
        std::memcpy(to, in, run);
      }
      in += run;
      to += run;
      continue;
    }
    std::size_t length = control >> 5;
    if (length == 7) {
      if (in >= in_end) return 0;
      length += std::to_integer<std::size_t>(*in++);
    }
    length += 2;
    if (in >= in_end) return 0;
    const std::size_t distance = ((control & 31U) << 8) + std::to_integer<std::size_t>(*in++) + 1;
    if (distance > static_cast<std::size_t>(to - out) || to + length > end) return 0;
    const std::byte* from = to - distance;
    if (distance >= 16) {
      for (std::size_t i = 0; i < length; i += 16) std::memcpy(to + i, from + i, 16);
    } else if (distance == 1) {
      std::memset(to, std::to_integer<int>(*from), length);
    } else if (16 % distance == 0) {  // 2, 4, 8: one pattern of 16 bytes, stored again and again
      std::byte pattern[16];
      for (std::size_t i = 0; i < 16; ++i) pattern[i] = from[i % distance];
      for (std::size_t i = 0; i < length; i += 16) std::memcpy(to + i, pattern, 16);
    } else {
      for (std::size_t i = 0; i < length; ++i) to[i] = from[i];
    }
    to += length;
  }
  return static_cast<std::size_t>(to - out);
}

}  // namespace bench
