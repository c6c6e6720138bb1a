#include "format/hdf5/structure/attribute_message.h"

#include "base/memory/align.h"
#include "format/hdf5/structure/object_header.h"

namespace headrace::hdf5 {

std::optional<AttributeParts> attribute_parts(std::span<const std::byte> message) {
  ByteCursor fields(message);
  const std::uint64_t version = fields.number(1), flags = fields.number(1);
  if (version < 1 || version > 3 || (version > 1 && flags != 0)) return {};
  const std::uint64_t name_bytes = fields.number(2), type_bytes = fields.number(2), space_bytes = fields.number(2);
  if (version == 3) fields.skip(1);  // the name's encoding
  const auto part = [&](std::uint64_t n) { return fields.take(version == 1 ? align_up(n, 8) : n); };
  AttributeParts parts;
  parts.name = part(name_bytes);
  parts.datatype = part(type_bytes);
  parts.dataspace = part(space_bytes);
  if (!fields.ok() || parts.name.empty()) return {};
  parts.data = fields.take(fields.left());
  return parts;
}

}  // namespace headrace::hdf5
