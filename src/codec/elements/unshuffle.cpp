#include "codec/elements/unshuffle.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/elements/unshuffle.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "codec/elements/interleave8-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headrace {
namespace HWY_NAMESPACE {

// Each returns how many elements it has done; the caller does the rest.
#if HWY_TARGET == HWY_SCALAR

std::size_t Unshuffle(const std::uint8_t*, std::size_t, std::size_t, std::uint8_t*) {
  return 0;
}

#else

std::size_t Unshuffle2(const std::uint8_t* in, std::size_t n, std::uint8_t* out) {
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t e = 0;
  for (; e + lanes <= n; e += lanes)
    hn::StoreInterleaved2(hn::LoadU(d, in + e), hn::LoadU(d, in + n + e), d, out + 2 * e);
  return e;
}

std::size_t Unshuffle3(const std::uint8_t* in, std::size_t n, std::uint8_t* out) {
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t e = 0;
  for (; e + lanes <= n; e += lanes)
    hn::StoreInterleaved3(hn::LoadU(d, in + e), hn::LoadU(d, in + n + e), hn::LoadU(d, in + 2 * n + e), d, out + 3 * e);
  return e;
}

std::size_t Unshuffle4(const std::uint8_t* in, std::size_t n, std::uint8_t* out) {
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t e = 0;
  for (; e + lanes <= n; e += lanes)
    hn::StoreInterleaved4(hn::LoadU(d, in + e), hn::LoadU(d, in + n + e), hn::LoadU(d, in + 2 * n + e),
                          hn::LoadU(d, in + 3 * n + e), d, out + 4 * e);
  return e;
}

std::size_t Unshuffle8(const std::uint8_t* in, std::size_t n, std::uint8_t* out) {
  const Wide d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t e = 0;
  for (; e + lanes <= n; e += lanes) {
    const auto plane = [&](std::size_t b) HWY_ATTR { return hn::LoadU(d, in + b * n + e); };
    StoreInterleaved8(d, plane(0), plane(1), plane(2), plane(3), plane(4), plane(5), plane(6), plane(7), out + 8 * e);
  }
  return e;
}

// Any size above 8: eight planes at a time into the 8 bytes they make of each element; the last eight may overlap.
std::size_t UnshuffleMany(const std::uint8_t* in, std::size_t n, std::size_t size, std::uint8_t* out) {
  const Block d;
  const hn::Half<Block> half;
  std::size_t e = 0;
  for (; e + 16 <= n; e += 16) {
    for (std::size_t done = 0; done < size; done += 8) {
      const std::size_t first = done + 8 <= size ? done : size - 8;
      const auto plane = [&](std::size_t b) HWY_ATTR { return hn::LoadU(d, in + (first + b) * n + e); };
      using V = hn::Vec<Block>;
      InterleaveBlocks8(d, plane(0), plane(1), plane(2), plane(3), plane(4), plane(5), plane(6), plane(7),
                        [&](int r, V even, V odd) HWY_ATTR {
                          std::uint8_t* to = out + (e + 2 * static_cast<std::size_t>(r)) * size + first;
                          hn::StoreU(hn::LowerHalf(half, even), half, to);
                          hn::StoreU(hn::UpperHalf(half, even), half, to + size);
                          hn::StoreU(hn::LowerHalf(half, odd), half, to + 2 * size);
                          hn::StoreU(hn::UpperHalf(half, odd), half, to + 3 * size);
                        });
    }
  }
  return e;
}

std::size_t Unshuffle(const std::uint8_t* in, std::size_t elements, std::size_t element_bytes, std::uint8_t* out) {
  switch (element_bytes) {
    case 2:
      return Unshuffle2(in, elements, out);
    case 3:
      return Unshuffle3(in, elements, out);
    case 4:
      return Unshuffle4(in, elements, out);
    case 8:
      return Unshuffle8(in, elements, out);
    default:
      return element_bytes > 8 ? UnshuffleMany(in, elements, element_bytes, out) : 0;
  }
}

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace headrace
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {
namespace {

HWY_EXPORT(Unshuffle);

void unshuffle_from(const std::uint8_t* in, std::size_t first, std::size_t elements, std::size_t element_bytes,
                    std::uint8_t* out) {
  for (std::size_t e = first; e < elements; ++e)
    for (std::size_t b = 0; b < element_bytes; ++b) out[e * element_bytes + b] = in[b * elements + e];
}

}  // namespace

void unshuffle(const std::uint8_t* in, std::size_t elements, std::size_t element_bytes, std::uint8_t* out) {
  if (elements == 0) return;
  if (element_bytes == 1 || elements == 1) {
    std::memcpy(out, in, elements * element_bytes);
    return;
  }
  const std::size_t done = HWY_DYNAMIC_DISPATCH(Unshuffle)(in, elements, element_bytes, out);
  unshuffle_from(in, done, elements, element_bytes, out);
}

void unshuffle_scalar(const std::uint8_t* in, std::size_t elements, std::size_t element_bytes, std::uint8_t* out) {
  unshuffle_from(in, 0, elements, element_bytes, out);
}

}  // namespace headrace
#endif  // HWY_ONCE
