#include "format/hdf5/chunk_layout.h"

#include <fmt/format.h>

#include "format/hdf5/object_header.h"

namespace headrace::hdf5 {
namespace {

constexpr std::uint64_t kChunked = 2;  // the layout class

Error damaged(std::string why) {
  return Error(ErrorCode::kCorruptData, "the object header is damaged: " + std::move(why));
}

}  // namespace

Result<std::optional<ChunkLayout>> chunk_layout(std::span<const std::byte> message, const Superblock& superblock) {
  ByteCursor fields(message);
  const std::uint64_t version = fields.number(1);
  std::uint64_t rank = 0, width = 4, address = 0;
  if (version == 1 || version == 2) {
    rank = fields.number(1);
    if (fields.number(1) != kChunked) return std::optional<ChunkLayout>();
    fields.skip(5);
    address = fields.number(superblock.address_bytes);
  } else if (version == 3 || version == 4) {
    if (fields.number(1) != kChunked) return std::optional<ChunkLayout>();
    if (version == 4) fields.skip(1);
    rank = fields.number(1);
    if (version == 4) width = fields.number(1);
    if (version == 3) address = fields.number(superblock.address_bytes);
  } else {
    return std::optional<ChunkLayout>();
  }
  // The last axis is the element.
  if (rank < 2 || rank > 33 || width < 1 || width > 8) return damaged(fmt::format("chunks of {} axes", rank));
  ChunkLayout layout;
  for (std::uint64_t d = 0; d < rank; ++d) {
    layout.lengths.push_back(fields.number(static_cast<std::size_t>(width)));
    if (layout.lengths.back() == 0) return damaged("a chunk of length 0");
  }
  layout.element_bytes = layout.lengths.back();
  layout.lengths.pop_back();
  if (version == 4) {
    const std::uint64_t index = fields.number(1);
    if (index < 1 || index > 5) return damaged(fmt::format("chunk index type {}", index));
    layout.index = static_cast<ChunkIndexKind>(index);
    if (layout.index == ChunkIndexKind::kFixedArray) {
      fields.skip(1);  // bits of a page
      const std::uint64_t array = fields.number(superblock.address_bytes);
      if (array != superblock.undefined_address()) layout.fixed_array_address = array;
    }
  } else if (address != superblock.undefined_address()) {
    layout.tree_address = address;
  }
  if (!fields.ok()) return damaged("a layout message that is cut short");
  return std::optional(std::move(layout));
}

}  // namespace headrace::hdf5
