#include "format/hdf5/structure/chunk_layout.h"

#include <fmt/format.h>

#include "format/hdf5/structure/object_header.h"

namespace headrace::hdf5 {
namespace {

constexpr std::uint64_t kChunked = 2;  // the layout class

}  // namespace

Result<std::optional<ChunkLayout>> chunk_layout(std::span<const std::byte> message, const Superblock& superblock) {
  ByteCursor fields(message);
  const std::uint64_t version = fields.number(1);
  std::uint64_t rank = 0, width = 4, address = 0, flags = 0;
  if (version == 1 || version == 2) {
    rank = fields.number(1);
    if (fields.number(1) != kChunked) return std::optional<ChunkLayout>();
    fields.skip(5);
    address = fields.number(superblock.address_bytes);
  } else if (version == 3 || version == 4) {
    if (fields.number(1) != kChunked) return std::optional<ChunkLayout>();
    if (version == 4) flags = fields.number(1);
    rank = fields.number(1);
    if (version == 4) width = fields.number(1);
    if (version == 3) address = fields.number(superblock.address_bytes);
  } else {
    return std::optional<ChunkLayout>();
  }
  // The last axis is the element.
  if (rank < 2 || rank > 33 || width < 1 || width > 8) return header_damaged(fmt::format("chunks of {} axes", rank));
  ChunkLayout layout;
  for (std::uint64_t d = 0; d < rank; ++d) {
    layout.lengths.push_back(fields.number(static_cast<std::size_t>(width)));
    if (layout.lengths.back() == 0) return header_damaged("a chunk of length 0");
  }
  layout.element_bytes = layout.lengths.back();
  layout.lengths.pop_back();
  if (version == 4) {
    const std::uint64_t index = fields.number(1);
    if (index < 1 || index > 5) return header_damaged(fmt::format("chunk index type {}", index));
    layout.index = static_cast<ChunkIndexKind>(index);
    // How the index was to be made (its own header says it again), then where it lies.
    if (layout.index == ChunkIndexKind::kFixedArray) fields.skip(1);
    if (layout.index == ChunkIndexKind::kExtensibleArray) fields.skip(5);
    if (layout.index == ChunkIndexKind::kBTree2) fields.skip(6);
    if (layout.index == ChunkIndexKind::kSingle && (flags & 0x02) != 0) {
      layout.single_bytes = fields.number(superblock.length_bytes);
      layout.single_mask = static_cast<std::uint32_t>(fields.number(4));
    }
    address = fields.number(superblock.address_bytes);
  }
  if (address != superblock.undefined_address()) layout.address = address;
  if (!fields.ok()) return header_damaged("a layout message that is cut short");
  return std::optional(std::move(layout));
}

std::vector<std::uint64_t> largest_shape(std::span<const std::byte> dataspace, const Superblock& superblock) {
  ByteCursor fields(dataspace);
  const std::uint64_t version = fields.number(1), rank = fields.number(1), flags = fields.number(1);
  fields.skip(version == 1 ? 5 : 1);
  const std::uint64_t none = ~std::uint64_t{0} >> (64 - 8 * superblock.length_bytes);
  const bool has_largest = (flags & 1) != 0;
  if (has_largest) fields.skip(rank * superblock.length_bytes);  // the shape comes first
  std::vector<std::uint64_t> shape;
  for (std::uint64_t d = 0; d < rank && fields.ok(); ++d) {
    const std::uint64_t n = fields.number(superblock.length_bytes);
    shape.push_back(has_largest && n == none ? ~std::uint64_t{0} : n);
  }
  if (!fields.ok() || version < 1 || version > 2) return {};
  return shape;
}

}  // namespace headrace::hdf5
