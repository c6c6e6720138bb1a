// Which rows decode together when fields are chunked differently (x by 128, adj by 64, y by 8192).
//
// The leading array (most decoded bytes a row) gives the block: its chunk. Other arrays coarsen the block a little if
// that aligns them; those that would coarsen it too much are side arrays, kept decoded in memory if they are small,
// else decoded again for every block that touches their chunk, and counted as read amplification. Blocks are part of
// what a seed means: they follow from the files alone, never from memory or threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "assembly/source.h"
#include "catalog/block.h"

namespace headrace {

enum class ArrayRole : std::uint8_t {
  kAligned,     ///< Its chunks tile the block.
  kResident,    ///< Decoded once, kept.
  kStraddling,  ///< Chunks reach past the block: decoded for each block that touches them.
};

struct FileLayout {
  std::uint64_t block_rows = 1;
  std::vector<ArrayRole> roles;  ///< One for each array; kStraddling before resident arrays are chosen.
};

struct BlockLayout {
  std::vector<FileLayout> files;
  std::shared_ptr<const BlockTable> table;
  std::uint64_t resident_bytes = 0;

  /// Return the stored rows of the largest block: what a buffer for any block must hold. The table's blocks are smaller
  /// where rows were selected.
  [[nodiscard]] std::uint64_t most_stored_rows() const {
    std::uint64_t most = 0;
    for (const FileLayout& file : files) most = std::max(most, file.block_rows);
    return most;
  }
};

/// What block_rows_of() needs to know of an array.
struct ArrayShape {
  std::uint64_t chunk_rows = 1;  ///< 1: rows are addressable one by one.
  std::uint64_t row_bytes = 0;   ///< Decoded.
};

/// Rows of a block, and which arrays align with it.
struct BlockChoice {
  std::uint64_t block_rows = 1;
  std::vector<bool> aligned;
};
BlockChoice choose_block(const std::vector<ArrayShape>& arrays, std::uint64_t file_rows);

/// \param resident_limit_bytes  Side arrays are made resident, smallest first, while they fit.
BlockLayout plan_layout(const Source& source, std::uint64_t resident_limit_bytes);

/// Decoded sizes of the arrays that cross the blocks.
struct StraddlingNeed {
  std::uint64_t bytes = 0;                ///< All their chunks.
  std::uint64_t largest_chunk_bytes = 0;  ///< 0: nothing straddles.
};
StraddlingNeed straddling_need(const Source& source, const BlockLayout& layout);

}  // namespace headrace
