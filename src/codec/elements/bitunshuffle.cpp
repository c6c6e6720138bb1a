#include "codec/elements/bitunshuffle.h"

#include <algorithm>
#include <cstring>

#include "codec/elements/unshuffle.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/elements/bitunshuffle.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "codec/elements/interleave8-inl.h"

// Two steps through a buffer that stays in the first-level cache: the 8 bit planes of each byte of the elements become
// one byte plane (an 8x8 bit transpose held in 8 vectors), then the byte planes become elements (unshuffle).

HWY_BEFORE_NAMESPACE();
namespace headrace {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

std::size_t BitPlanesToBytes(const std::uint8_t*, std::size_t, std::size_t, std::uint8_t*) {
  return 0;
}

#else

// Exchanges the upper `kShift` bits of each group in `a` with the lower ones in `b`. The lanes are 16 bits wide, but
// `mask` keeps the bits inside their bytes.
template <int kShift, class V>
HWY_INLINE void SwapBits(V& a, V& b, V mask) {
  const V t = hn::And(hn::Xor(hn::ShiftRight<kShift>(a), b), mask);
  b = hn::Xor(b, t);
  a = hn::Xor(a, hn::ShiftLeft<kShift>(t));
}

// Eight bit planes, `stride` bytes apart, to the bytes of 8 * columns elements. Returns the columns done.
std::size_t BitPlanesToBytes(const std::uint8_t* in, std::size_t stride, std::size_t columns, std::uint8_t* out) {
  const Wide d;
  const hn::Repartition<std::uint16_t, Wide> d16;
  const std::size_t lanes = hn::Lanes(d);
  const auto nibbles = hn::Set(d16, 0x0f0f), pairs = hn::Set(d16, 0x3333), singles = hn::Set(d16, 0x5555);
  std::size_t c = 0;
  for (; c + lanes <= columns; c += lanes) {
    const auto plane = [&](std::size_t k) HWY_ATTR { return hn::BitCast(d16, hn::LoadU(d, in + k * stride + c)); };
    auto p0 = plane(0), p1 = plane(1), p2 = plane(2), p3 = plane(3), p4 = plane(4), p5 = plane(5), p6 = plane(6),
         p7 = plane(7);
    SwapBits<4>(p0, p4, nibbles);
    SwapBits<4>(p1, p5, nibbles);
    SwapBits<4>(p2, p6, nibbles);
    SwapBits<4>(p3, p7, nibbles);
    SwapBits<2>(p0, p2, pairs);
    SwapBits<2>(p1, p3, pairs);
    SwapBits<2>(p4, p6, pairs);
    SwapBits<2>(p5, p7, pairs);
    SwapBits<1>(p0, p1, singles);
    SwapBits<1>(p2, p3, singles);
    SwapBits<1>(p4, p5, singles);
    SwapBits<1>(p6, p7, singles);
    const auto bytes = [&](auto v) HWY_ATTR { return hn::BitCast(d, v); };
    StoreInterleaved8(d, bytes(p0), bytes(p1), bytes(p2), bytes(p3), bytes(p4), bytes(p5), bytes(p6), bytes(p7),
                      out + 8 * c);
  }
  return c;
}

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace headrace
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {
namespace {

HWY_EXPORT(BitPlanesToBytes);

constexpr std::size_t kTileBytes = 16384;

void bit_planes_to_bytes(const std::uint8_t* in, std::size_t stride, std::size_t columns, std::uint8_t* out) {
  for (std::size_t c = HWY_DYNAMIC_DISPATCH(BitPlanesToBytes)(in, stride, columns, out); c < columns; ++c) {
    for (std::size_t i = 0; i < 8; ++i) {
      unsigned byte = 0;
      for (std::size_t k = 0; k < 8; ++k) byte |= (in[k * stride + c] >> i & 1u) << k;
      out[8 * c + i] = static_cast<std::uint8_t>(byte);
    }
  }
}

}  // namespace

void bitunshuffle(const std::uint8_t* in, std::size_t elements, std::size_t element_bytes, std::uint8_t* out) {
  const std::size_t columns = elements / 8;
  if (element_bytes == 1) return bit_planes_to_bytes(in, columns, columns, out);
  // As many columns at a time as fit the tile; whole vectors of them where that is possible.
  std::size_t step = kTileBytes / 8 / element_bytes;
  if (step == 0) return bitunshuffle_scalar(in, elements, element_bytes, out);
  if (step > 32) step -= step % 32;
  alignas(64) std::uint8_t tile[kTileBytes];
  for (std::size_t first = 0; first < columns; first += step) {
    const std::size_t count = std::min(step, columns - first);
    for (std::size_t b = 0; b < element_bytes; ++b)
      bit_planes_to_bytes(in + b * 8 * columns + first, columns, count, tile + b * 8 * count);
    unshuffle(tile, 8 * count, element_bytes, out + first * 8 * element_bytes);
  }
}

void bitunshuffle_scalar(const std::uint8_t* in, std::size_t elements, std::size_t element_bytes, std::uint8_t* out) {
  std::memset(out, 0, elements * element_bytes);
  for (std::size_t e = 0; e < elements; ++e)
    for (std::size_t bit = 0; bit < element_bytes * 8; ++bit) {
      const unsigned value = in[bit * (elements / 8) + e / 8] >> (e % 8) & 1u;
      out[e * element_bytes + bit / 8] = static_cast<std::uint8_t>(out[e * element_bytes + bit / 8] | value << bit % 8);
    }
}

}  // namespace headrace
#endif  // HWY_ONCE
