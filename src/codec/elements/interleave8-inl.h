// Interleaving of eight byte planes with SIMD, for kernels that Highway compiles once per target (hence the toggle).
#if defined(HEADRACE_CODEC_INTERLEAVE8_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADRACE_CODEC_INTERLEAVE8_INL_H_
#undef HEADRACE_CODEC_INTERLEAVE8_INL_H_
#else
#define HEADRACE_CODEC_INTERLEAVE8_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headrace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Highway's one-lane target has no blocks to interleave: there, kernels do nothing and leave all work to plain C++.
#if HWY_TARGET != HWY_SCALAR

// 32-byte vectors where the target has them, else 16: the transpose below works in blocks of 16 bytes.
using Block = hn::FixedTag<std::uint8_t, 16>;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
using Wide = hn::FixedTag<std::uint8_t, 32>;
#else
using Wide = Block;
#endif

// Calls emit(r, even, odd) for r = 0, 2, 4, 6. Of the 16 elements whose planes share a 16-byte block, that block of
// `even` holds elements 2r and 2r + 1 (8 bytes each), and that of `odd` the next two.
template <class D, class V, class Emit>
HWY_INLINE void InterleaveBlocks8(D d, V p0, V p1, V p2, V p3, V p4, V p5, V p6, V p7, Emit emit) {
  const hn::Repartition<std::uint16_t, D> d16;
  const hn::Repartition<std::uint32_t, D> d32;
  const auto lower = [&](V a, V b) HWY_ATTR { return hn::BitCast(d16, hn::InterleaveLower(d, a, b)); };
  const auto upper = [&](V a, V b) HWY_ATTR { return hn::BitCast(d16, hn::InterleaveUpper(d, a, b)); };
  const auto finish = [&](auto b01, auto b23, auto b45, auto b67, int first) HWY_ATTR {
    const auto lo0123 = hn::BitCast(d32, hn::InterleaveLower(d16, b01, b23));
    const auto hi0123 = hn::BitCast(d32, hn::InterleaveUpper(d16, b01, b23));
    const auto lo4567 = hn::BitCast(d32, hn::InterleaveLower(d16, b45, b67));
    const auto hi4567 = hn::BitCast(d32, hn::InterleaveUpper(d16, b45, b67));
    emit(first, hn::BitCast(d, hn::InterleaveLower(d32, lo0123, lo4567)),
         hn::BitCast(d, hn::InterleaveUpper(d32, lo0123, lo4567)));
    emit(first + 2, hn::BitCast(d, hn::InterleaveLower(d32, hi0123, hi4567)),
         hn::BitCast(d, hn::InterleaveUpper(d32, hi0123, hi4567)));
  };
  finish(lower(p0, p1), lower(p2, p3), lower(p4, p5), lower(p6, p7), 0);
  finish(upper(p0, p1), upper(p2, p3), upper(p4, p5), upper(p6, p7), 4);
}

// Stores 8-byte elements one after the other: 8 * Lanes(d) bytes.
template <class V>
HWY_INLINE void StoreInterleaved8(Wide d, V p0, V p1, V p2, V p3, V p4, V p5, V p6, V p7, std::uint8_t* out) {
  InterleaveBlocks8(d, p0, p1, p2, p3, p4, p5, p6, p7, [&](int r, V even, V odd) HWY_ATTR {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
    hn::StoreU(hn::ConcatLowerLower(d, odd, even), d, out + 16 * r);
    hn::StoreU(hn::ConcatUpperUpper(d, odd, even), d, out + 128 + 16 * r);
#else
    hn::StoreU(even, d, out + 16 * r);
    hn::StoreU(odd, d, out + 16 * (r + 1));
#endif
  });
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace headrace
HWY_AFTER_NAMESPACE();
#endif
