#include "codec/elements/byte_planes.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/elements/byte_planes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headrace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Returns how many elements it has done; the caller does the rest.
#if HWY_TARGET == HWY_SCALAR

std::size_t SplitPlanes(const std::uint8_t*, std::size_t, std::size_t, std::uint8_t*) {
  return 0;
}

#else

std::size_t SplitPlanes(const std::uint8_t* in, std::size_t n, std::size_t size, std::uint8_t* out) {
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t lanes = hn::Lanes(d);
  using V = hn::Vec<decltype(d)>;
  V v0, v1, v2, v3, w0, w1, w2, w3;
  std::size_t e = 0;
  if (size == 2)
    for (; e + lanes <= n; e += lanes) {
      hn::LoadInterleaved2(d, in + 2 * e, v0, v1);
      hn::StoreU(v0, d, out + e);
      hn::StoreU(v1, d, out + n + e);
    }
  if (size == 3)
    for (; e + lanes <= n; e += lanes) {
      hn::LoadInterleaved3(d, in + 3 * e, v0, v1, v2);
      hn::StoreU(v0, d, out + e);
      hn::StoreU(v1, d, out + n + e);
      hn::StoreU(v2, d, out + 2 * n + e);
    }
  if (size == 4)
    for (; e + lanes <= n; e += lanes) {
      hn::LoadInterleaved4(d, in + 4 * e, v0, v1, v2, v3);
      hn::StoreU(v0, d, out + e);
      hn::StoreU(v1, d, out + n + e);
      hn::StoreU(v2, d, out + 2 * n + e);
      hn::StoreU(v3, d, out + 3 * n + e);
    }
  if (size == 8)  // as pairs of four: the planes of both halves come out in turns
    for (; e + lanes <= n; e += lanes) {
      hn::LoadInterleaved4(d, in + 8 * e, v0, v1, v2, v3);
      hn::LoadInterleaved4(d, in + 8 * e + 4 * lanes, w0, w1, w2, w3);
      const auto store = [&](std::size_t plane, V low, V high) HWY_ATTR {
        hn::StoreU(hn::ConcatEven(d, high, low), d, out + plane * n + e);
        hn::StoreU(hn::ConcatOdd(d, high, low), d, out + (plane + 4) * n + e);
      };
      store(0, v0, w0);
      store(1, v1, w1);
      store(2, v2, w2);
      store(3, v3, w3);
    }
  return e;
}

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace headrace
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {
namespace {

HWY_EXPORT(SplitPlanes);

}  // namespace

void split_planes(const std::uint8_t* in, std::size_t elements, std::size_t element_bytes, std::uint8_t* out) {
  const std::size_t done = HWY_DYNAMIC_DISPATCH(SplitPlanes)(in, elements, element_bytes, out);
  for (std::size_t b = 0; b < element_bytes; ++b)
    for (std::size_t e = done; e < elements; ++e) out[b * elements + e] = in[e * element_bytes + b];
}

}  // namespace headrace
#endif  // HWY_ONCE
