#include "codec/checksum/fletcher32_sum.h"

#include <algorithm>
#include <bit>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/checksum/fletcher32_sum.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// With words w_1 … w_n the two sums are Σ w_i and Σ (n + 1 - i) w_i, modulo 65535. Swapping the bytes of every word
// multiplies both by 256 modulo 65535, so the words are added as the machine loads them and the result is put right
// once. 256 steps keep the 32-bit lanes from overflowing: 65535 · 256 · 257 / 2.

HWY_BEFORE_NAMESPACE();
namespace headrace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

std::size_t AddWords(const std::uint16_t*, std::size_t, std::uint64_t&, std::uint64_t&) {
  return 0;
}

#else

constexpr std::size_t kMaxSteps = 256;

// Adds whole vectors of native-order words to the sums (kept below 65535); returns the words used.
std::size_t AddWords(const std::uint16_t* words, std::size_t count, std::uint64_t& sum1, std::uint64_t& sum2) {
  const hn::ScalableTag<std::uint32_t> d32;
  const hn::Rebind<std::uint16_t, decltype(d32)> d16;
  const std::size_t lanes = hn::Lanes(d32), step = 2 * lanes;
  constexpr std::size_t kMaxLanes = hn::MaxLanes(d32);
  HWY_ALIGN std::uint32_t plain[2 * kMaxLanes], rising[2 * kMaxLanes];
  std::size_t used = 0;
  while (used + step <= count) {
    const std::size_t steps = HWY_MIN((count - used) / step, kMaxSteps);
    auto plain0 = hn::Zero(d32), plain1 = hn::Zero(d32), rising0 = hn::Zero(d32), rising1 = hn::Zero(d32);
    const std::uint16_t* p = words + used;
    for (std::size_t k = 0; k < steps; ++k, p += step) {
      plain0 = hn::Add(plain0, hn::PromoteTo(d32, hn::LoadU(d16, p)));
      plain1 = hn::Add(plain1, hn::PromoteTo(d32, hn::LoadU(d16, p + lanes)));
      rising0 = hn::Add(rising0, plain0);
      rising1 = hn::Add(rising1, plain1);
    }
    hn::Store(plain0, d32, plain);
    hn::Store(plain1, d32, plain + lanes);
    hn::Store(rising0, d32, rising);
    hn::Store(rising1, d32, rising + lanes);
    // Lane j of step k (of K) is word k · step + j; it counts (K - k) · step - j times in the second sum.
    std::uint64_t all = 0, weighted = 0;
    for (std::size_t j = 0; j < step; ++j) {
      all += plain[j];
      weighted += std::uint64_t{rising[j]} * step - std::uint64_t{plain[j]} * j;
    }
    sum2 = (sum2 + sum1 * (steps * step) + weighted) % 65535;
    sum1 = (sum1 + all) % 65535;
    used += steps * step;
  }
  return used;
}

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace headrace
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(AddWords);

std::uint32_t fletcher32_sum(const std::uint8_t* data, std::size_t size_bytes) {
  const std::size_t words = size_bytes / 2;
  std::uint64_t sum1 = 0, sum2 = 0;
  // The words may start at an odd address; only unaligned vector loads touch them through this pointer.
  std::size_t i =
      words == 0 ? 0 : HWY_DYNAMIC_DISPATCH(AddWords)(reinterpret_cast<const std::uint16_t*>(data), words, sum1, sum2);
  if (i == 0) return fletcher32_sum_scalar(data, size_bytes);
  if constexpr (std::endian::native == std::endian::little) {
    sum1 = sum1 * 256 % 65535;
    sum2 = sum2 * 256 % 65535;
  }
  const auto add = [&](std::uint32_t word) {
    sum1 = (sum1 + word) % 65535;
    sum2 = (sum2 + sum1) % 65535;
  };
  for (; i < words; ++i) add(std::uint32_t{data[2 * i]} << 8 | data[2 * i + 1]);
  if (size_bytes % 2 != 0) add(std::uint32_t{data[size_bytes - 1]} << 8);
  // HDF5 folds carries instead of taking remainders: a multiple of 65535 stays 65535, and only all-zero data sums to 0.
  if (sum1 == 0 || sum2 == 0) {
    const bool all_zero = std::all_of(data, data + size_bytes, [](std::uint8_t byte) { return byte == 0; });
    if (!all_zero && sum1 == 0) sum1 = 65535;
    if (!all_zero && sum2 == 0) sum2 = 65535;
  }
  return static_cast<std::uint32_t>(sum2 << 16 | sum1);
}

std::uint32_t fletcher32_sum_scalar(const std::uint8_t* data, std::size_t size_bytes) {
  const auto fold = [](std::uint32_t sum) { return (sum & 0xffff) + (sum >> 16); };
  std::uint32_t sum1 = 0, sum2 = 0;
  for (std::size_t words = size_bytes / 2; words > 0;) {
    std::size_t block = std::min<std::size_t>(words, 360);
    words -= block;
    for (; block > 0; --block, data += 2) {
      sum1 += std::uint32_t{data[0]} << 8 | data[1];
      sum2 += sum1;
    }
    sum1 = fold(sum1);
    sum2 = fold(sum2);
  }
  if (size_bytes % 2 != 0) {
    sum1 += std::uint32_t{*data} << 8;
    sum2 += sum1;
    sum1 = fold(sum1);
    sum2 = fold(sum2);
  }
  return fold(sum2) << 16 | fold(sum1);
}

}  // namespace headrace
#endif  // HWY_ONCE
