#include "codec/elements/byteswap.h"

#include <algorithm>
#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/elements/byteswap.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headrace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

std::size_t PermuteBlocks(std::uint8_t*, std::size_t, const std::uint8_t*) {
  return 0;
}

#else

// Byte i of each 16 comes from byte `order[i]`. Returns the bytes done.
std::size_t PermuteBlocks(std::uint8_t* data, std::size_t size, const std::uint8_t* order) {
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto from = hn::LoadDup128(d, order);
  std::size_t i = 0;
  for (; i + lanes <= size; i += lanes) hn::StoreU(hn::TableLookupBytes(hn::LoadU(d, data + i), from), d, data + i);
  return i;
}

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace headrace
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(PermuteBlocks);

void swap_bytes(std::span<std::byte> data, std::size_t number_bytes) {
  std::size_t done = 0;
  if (number_bytes == 2 || number_bytes == 4 || number_bytes == 8) {
    alignas(16) std::uint8_t order[16];
    for (std::size_t i = 0; i < 16; ++i) order[i] = static_cast<std::uint8_t>(i ^ (number_bytes - 1));
    done = HWY_DYNAMIC_DISPATCH(PermuteBlocks)(reinterpret_cast<std::uint8_t*>(data.data()), data.size(), order);
  }
  swap_bytes_scalar(data.subspan(done), number_bytes);
}

void swap_bytes_scalar(std::span<std::byte> data, std::size_t number_bytes) {
  if (number_bytes < 2) return;
  for (; data.size() >= number_bytes; data = data.subspan(number_bytes))
    std::reverse(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(number_bytes));
}

}  // namespace headrace
#endif  // HWY_ONCE
