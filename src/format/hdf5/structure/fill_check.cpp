#include "format/hdf5/structure/fill_check.h"

#include <fmt/format.h>

#include "format/hdf5/structure/object_header.h"

namespace headrace::hdf5 {

Status check_fill_value(std::span<const std::byte> message, bool is_old, std::optional<std::uint64_t> element_bytes) {
  ByteCursor fields(message);
  bool is_signed = false;  // in versions 1 and 2 only; the others have sizes up to 2^32
  if (!is_old) {
    const std::uint64_t version = fields.number(1),
                        flags = fields.number(1);  // the first byte of three up to version 2
    if (version < 1 || version > 3) return header_damaged(fmt::format("a fill value message of version {}", version));
    is_signed = version < 3;
    if (version < 3) fields.skip(1);
    const bool is_defined = version == 3 ? (flags & 0x20) != 0 : fields.number(1) != 0;
    if (version > 1 && !is_defined) return {};  // version 1 always has a size
  }
  const std::uint64_t size = fields.number(4);
  if (!fields.ok()) return header_damaged("a fill value message that is cut short");
  if (size == 0 || (is_signed && size > 0x7FFFFFFF)) return {};  // 0: zeros; negative: undefined
  if (size > fields.left())
    return header_damaged(fmt::format("a fill value of {} bytes in a message that has {} left", size, fields.left()));
  if (!element_bytes)
    return Error(ErrorCode::kUnsupported,
                 "its fill value cannot be checked: its datatype lies in a heap of messages "
                 "that objects share")
        .with_hint("Copy the file with h5repack, which writes both into the object's own header.");
  if (size != *element_bytes)
    return header_damaged(fmt::format("a fill value of {} bytes for elements of {}", size, *element_bytes));
  return {};
}

}  // namespace headrace::hdf5
