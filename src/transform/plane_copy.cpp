#include "transform/plane_copy.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transform/plane_copy.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headrace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::uint64_t kPartBytes = 64;    // a cache line
constexpr std::int64_t kCrowdBytes = 1024;  // lines so far apart share a few sets of the first cache
#if HWY_HAVE_SCALABLE || (HWY_TARGET & (HWY_SVE_256 | HWY_SVE2_128)) != 0 || HWY_TARGET == HWY_SCALAR
constexpr bool kHasSquares = false;  // no arrays of vectors, or no vectors
#else
constexpr bool kHasSquares = true;
#endif
template <class T>
constexpr std::size_t kNarrow = kHasSquares ? 16 / sizeof(T) : 1;

template <class D, class V>
HWY_INLINE V Reversed(D d, V v) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(hn::TFromD<D>) == 1) {  // which Highway has since 1.1
    const hn::Repartition<std::uint16_t, D> pairs;
    const auto turned = hn::Reverse(pairs, hn::BitCast(pairs, v));
    return hn::BitCast(d, hn::Or(hn::ShiftLeft<8>(turned), hn::ShiftRight<8>(turned)));
  } else
#endif
    return hn::Reverse(d, v);
}

/// Both ends of a line are read before either is written: where both sides have one place in their pages, a load that
/// follows a store to its own place in the other page waits for it.
template <class D>
void ReverseLine(D d, hn::TFromD<D>* HWY_RESTRICT to, const hn::TFromD<D>* HWY_RESTRICT from, std::uint64_t count) {
  const std::uint64_t lanes = hn::Lanes(d);
  std::uint64_t begin = 0, end = count;
  for (; begin + 2 * lanes <= end; begin += lanes, end -= lanes) {
    const auto low = hn::LoadU(d, from + begin), high = hn::LoadU(d, from + end - lanes);
    hn::StoreU(Reversed(d, high), d, to + count - end);
    hn::StoreU(Reversed(d, low), d, to + count - begin - lanes);
  }
  for (; begin < end; begin += lanes) {
    const std::uint64_t at = std::min(begin, count - lanes);  // some of it once more
    hn::StoreU(Reversed(d, hn::LoadU(d, from + at)), d, to + count - at - lanes);
  }
}

template <class T>
void ReverseLines(const LineStack& stack, std::byte* to, const std::byte* from) {
  const hn::ScalableTag<T> wide;
  // 16 bytes with scalable vectors too (SVE): one byte alone is no pair, as which Reversed() takes them.
  const hn::CappedTag<T, HWY_TARGET == HWY_SCALAR ? 1 : 16 / sizeof(T)> narrow;
  for (std::uint64_t i = 0; i < stack.lines; ++i, to += stack.step_to, from += stack.step_from) {
    T* const out = reinterpret_cast<T*>(to);
    const T* const in = reinterpret_cast<const T*>(from);
    if (stack.elements >= hn::Lanes(wide))
      ReverseLine(wide, out, in, stack.elements);
    else if (stack.elements >= hn::Lanes(narrow))
      ReverseLine(narrow, out, in, stack.elements);
    else  // elements of several values that lie together may be less aligned than T
      for (std::uint64_t e = 0; e < stack.elements; ++e)
        std::memcpy(to + e * sizeof(T), from + (stack.elements - 1 - e) * sizeof(T), sizeof(T));
  }
}

#if HWY_HAVE_SCALABLE || (HWY_TARGET & (HWY_SVE_256 | HWY_SVE2_128)) != 0 || HWY_TARGET == HWY_SCALAR
template <class T>
void TransposeSquare(const std::byte*, std::int64_t, std::byte*, std::int64_t) {}
#else
/// A square of as many lines as a vector has lanes.
template <class T>
HWY_INLINE void TransposeSquare(const std::byte* from, std::int64_t slow_from, std::byte* to, std::int64_t line_to) {
  constexpr std::size_t kLanes = kNarrow<T>;
  const hn::FixedTag<T, kLanes> d;
  using V = hn::Vec<decltype(d)>;
  V a[kLanes], b[kLanes];
  for (std::size_t i = 0; i < kLanes; ++i)
    a[i] = hn::LoadU(d, reinterpret_cast<const T*>(from + static_cast<std::int64_t>(i) * slow_from));
  for (std::size_t round = kLanes; round > 1; round /= 2) {  // each brings the lanes of two vectors together
    for (std::size_t i = 0; i < kLanes / 2; ++i) {
      b[2 * i] = hn::InterleaveLower(d, a[i], a[i + kLanes / 2]);
      b[2 * i + 1] = hn::InterleaveUpper(d, a[i], a[i + kLanes / 2]);
    }
    for (std::size_t i = 0; i < kLanes; ++i) a[i] = b[i];
  }
  for (std::size_t i = 0; i < kLanes; ++i)
    hn::StoreU(a[i], d, reinterpret_cast<T*>(to + static_cast<std::int64_t>(i) * line_to));
}
#endif

/// What is left beside the squares.
template <class T>
void TransposeRest(const Plane& plane, std::byte* to, const std::byte* from) {
  for (std::uint64_t line = 0; line < plane.line; ++line, to += plane.line_to, from += sizeof(T)) {
    const std::byte* in = from;
    for (std::uint64_t slow = 0; slow < plane.slow; ++slow, in += plane.slow_from)
      std::memcpy(to + slow * sizeof(T), in, sizeof(T));
  }
}

/// A part by way of memory that stays in the first cache, from which lines push each other that are a multiple of its
/// sets apart: each is read and written as a whole, once.
template <class T>
void TransposeBuffered(const Plane& part, std::byte* to, const std::byte* from) {
  constexpr std::uint64_t kLanes = kNarrow<T>, kPart = kPartBytes / sizeof(T);
  HWY_ALIGN std::byte lines[kPart * kPartBytes], turned[kPart * kPartBytes];
  for (std::uint64_t slow = 0; slow < kPart; ++slow)
    std::memcpy(lines + slow * kPartBytes, from + static_cast<std::int64_t>(slow) * part.slow_from, kPartBytes);
  for (std::uint64_t line = 0; line < kPart; line += kLanes)
    for (std::uint64_t slow = 0; slow < kPart; slow += kLanes)
      TransposeSquare<T>(lines + slow * kPartBytes + line * sizeof(T), kPartBytes,
                         turned + line * kPartBytes + slow * sizeof(T), kPartBytes);
  for (std::uint64_t line = 0; line < kPart; ++line)
    std::memcpy(to + static_cast<std::int64_t>(line) * part.line_to, turned + line * kPartBytes, kPartBytes);
}

/// In parts as wide as a cache line on either side.
template <class T>
void TransposePlane(const Plane& plane, std::byte* to, const std::byte* from) {
  constexpr std::uint64_t kLanes = kNarrow<T>, kPart = kPartBytes / sizeof(T);
  const std::uint64_t lines = kHasSquares ? plane.line / kLanes * kLanes : 0;
  const std::uint64_t slows = plane.slow / kLanes * kLanes;
  const auto out = [&](std::uint64_t line, std::uint64_t slow) {
    return to + static_cast<std::int64_t>(line) * plane.line_to + slow * sizeof(T);
  };
  const auto in = [&](std::uint64_t line, std::uint64_t slow) {
    return from + static_cast<std::int64_t>(slow) * plane.slow_from + line * sizeof(T);
  };
  const bool crowds = plane.slow_from % kCrowdBytes == 0 || plane.line_to % kCrowdBytes == 0;
  for (std::uint64_t slow = 0; slow < slows; slow += kPart)
    for (std::uint64_t line = 0; line < lines; line += kPart) {
      if (plane.next_to != 0)  // where a store would wait for the line
        for (std::uint64_t i = line; i < std::min(line + kPart, lines); ++i)
          __builtin_prefetch(out(i, slow) + plane.next_to, 1);
      if (crowds && line + kPart <= lines && slow + kPart <= slows) {
        TransposeBuffered<T>(plane, out(line, slow), in(line, slow));
        continue;
      }
      for (std::uint64_t i = line; i < std::min(line + kPart, lines); i += kLanes)
        for (std::uint64_t j = slow; j < std::min(slow + kPart, slows); j += kLanes)
          TransposeSquare<T>(in(i, j), plane.slow_from, out(i, j), plane.line_to);
    }
  TransposeRest<T>({plane.slow - slows, plane.slow_from, lines, plane.line_to}, out(0, slows), in(0, slows));
  TransposeRest<T>({plane.slow, plane.slow_from, plane.line - lines, plane.line_to}, out(lines, 0), in(lines, 0));
}

void ReverseLines1(const LineStack& stack, std::byte* to, const std::byte* from) {
  ReverseLines<std::uint8_t>(stack, to, from);
}
void ReverseLines2(const LineStack& stack, std::byte* to, const std::byte* from) {
  ReverseLines<std::uint16_t>(stack, to, from);
}
void ReverseLines4(const LineStack& stack, std::byte* to, const std::byte* from) {
  ReverseLines<std::uint32_t>(stack, to, from);
}
void ReverseLines8(const LineStack& stack, std::byte* to, const std::byte* from) {
  ReverseLines<std::uint64_t>(stack, to, from);
}
void TransposePlane1(const Plane& plane, std::byte* to, const std::byte* from) {
  TransposePlane<std::uint8_t>(plane, to, from);
}
void TransposePlane2(const Plane& plane, std::byte* to, const std::byte* from) {
  TransposePlane<std::uint16_t>(plane, to, from);
}
void TransposePlane4(const Plane& plane, std::byte* to, const std::byte* from) {
  TransposePlane<std::uint32_t>(plane, to, from);
}
void TransposePlane8(const Plane& plane, std::byte* to, const std::byte* from) {
  TransposePlane<std::uint64_t>(plane, to, from);
}

}  // namespace HWY_NAMESPACE
}  // namespace headrace
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(ReverseLines1);
HWY_EXPORT(ReverseLines2);
HWY_EXPORT(ReverseLines4);
HWY_EXPORT(ReverseLines8);
HWY_EXPORT(TransposePlane1);
HWY_EXPORT(TransposePlane2);
HWY_EXPORT(TransposePlane4);
HWY_EXPORT(TransposePlane8);

void copy_backwards(const LineStack& stack, std::byte* to, const std::byte* from, std::size_t item) {
  switch (item) {
    case 1:
      return HWY_DYNAMIC_DISPATCH(ReverseLines1)(stack, to, from);
    case 2:
      return HWY_DYNAMIC_DISPATCH(ReverseLines2)(stack, to, from);
    case 4:
      return HWY_DYNAMIC_DISPATCH(ReverseLines4)(stack, to, from);
    default:
      return HWY_DYNAMIC_DISPATCH(ReverseLines8)(stack, to, from);
  }
}

void copy_plane(const Plane& plane, std::byte* to, const std::byte* from, std::size_t item) {
  switch (item) {
    case 1:
      return HWY_DYNAMIC_DISPATCH(TransposePlane1)(plane, to, from);
    case 2:
      return HWY_DYNAMIC_DISPATCH(TransposePlane2)(plane, to, from);
    case 4:
      return HWY_DYNAMIC_DISPATCH(TransposePlane4)(plane, to, from);
    default:
      return HWY_DYNAMIC_DISPATCH(TransposePlane8)(plane, to, from);
  }
}

}  // namespace headrace
#endif
