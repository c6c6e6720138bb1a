// The layout message of a chunked dataset: how long chunks are, and where their index lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "format/hdf5/structure/superblock.h"

namespace headrace::hdf5 {

enum class ChunkIndexKind : std::uint8_t {  // the numbers are those of layout message 4
  kBTree1 = 0,
  kSingle = 1,
  kImplicit = 2,
  kFixedArray = 3,
  kExtensibleArray = 4,
  kBTree2 = 5,
};

struct ChunkLayout {
  std::vector<std::uint64_t> lengths;  ///< Lengths of a chunk along each axis; none is 0.
  std::uint64_t element_bytes = 0;     ///< The file says it here a second time, beside the datatype.
  ChunkIndexKind index = ChunkIndexKind::kBTree1;
  std::optional<std::uint64_t> address;       ///< Address of the index, as in the file; none: nothing was written.
  std::optional<std::uint64_t> single_bytes;  ///< Stored bytes of a single chunk that filters have made, and ...
  std::uint32_t single_mask = 0;              ///< ... the filters that were skipped.
};

/// Take a layout message apart (specification IV.A.2.i, versions 1 to 4). nullopt if it is not chunked, or newer.
/// Errors: kCorruptData.
Result<std::optional<ChunkLayout>> chunk_layout(std::span<const std::byte> message, const Superblock& superblock);

/// Return the largest shape that a dataspace message (versions 1 and 2) allows, ~0 for an axis without bounds. Empty
/// for a message that makes no sense, and for a scalar.
std::vector<std::uint64_t> largest_shape(std::span<const std::byte> dataspace, const Superblock& superblock);

}  // namespace headrace::hdf5
