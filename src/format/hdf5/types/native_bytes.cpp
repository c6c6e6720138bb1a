#include "format/hdf5/types/native_bytes.h"

#include <algorithm>
#include <cstring>

#include "codec/elements/byteswap.h"

namespace headrace::hdf5 {

namespace {

/// Return the bytes of a text that are not padding.
std::size_t length_of(std::span<const std::byte> text, bool spaces) {
  if (!spaces) {
    const void* const end = std::memchr(text.data(), 0, text.size());
    return end == nullptr ? text.size() : static_cast<std::size_t>(static_cast<const std::byte*>(end) - text.data());
  }
  std::size_t length = text.size();
  while (length > 0 && text[length - 1] == std::byte{' '}) --length;
  return length;
}

void pad_with_nuls(const TextRun& run, std::span<std::byte> texts) {
  for (std::size_t at = 0; at + run.width <= texts.size(); at += run.width) {
    const std::span<std::byte> text = texts.subspan(at, run.width);
    std::ranges::fill(text.subspan(length_of(text, run.spaces)), std::byte{0});
  }
}

}  // namespace

void to_native(const ElementType& element, std::span<std::byte> elements) {
  if (element.is_native()) return;
  if (element.swaps_whole()) return swap_bytes(elements, element.swaps[0].width);
  const auto record = static_cast<std::size_t>(element.record_bytes);
  for (std::size_t at = 0; at + record <= elements.size(); at += record)
    for (const SwapRun& run : element.swaps)
      swap_bytes(elements.subspan(at + run.offset, run.count * run.width), run.width);
  for (const TextRun& run : element.texts)
    for (std::size_t at = 0; at + record <= elements.size(); at += record)
      pad_with_nuls(run, elements.subspan(at + run.offset, run.count * run.width));
}

Result<std::vector<std::byte>> fill_element(const LibraryLock& library, hid_t creation_list, hid_t stored_type,
                                            const ElementType& element) {
  H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
  if (H5Pfill_value_defined(creation_list, &defined) < 0)
    return Error(ErrorCode::kCorruptData, "cannot read the fill value: " + last_library_error(library).text());
  if (defined != H5D_FILL_VALUE_USER_DEFINED)
    return std::vector<std::byte>(1);  // however large an element claims to be
  if (!element.left_out.empty())       // what they point to would be read
    return Error(ErrorCode::kUnsupported, "a fill value of records that have " + element.left_out[0].reason);
  std::vector<std::byte> value(element.record_bytes);
  const hid_t type = element.memory_type.ok() ? element.memory_type.get() : stored_type;
  if (H5Pget_fill_value(creation_list, type, value.data()) < 0)
    return Error(ErrorCode::kCorruptData, "cannot read the fill value: " + last_library_error(library).text());
  to_native(element, value);
  return value;
}

}  // namespace headrace::hdf5
