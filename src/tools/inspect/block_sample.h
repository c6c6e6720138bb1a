// Blocks to measure on: spread over the files, few enough to be read in a moment.
#pragma once

#include <cstdint>
#include <vector>

#include "assembly/block_layout.h"
#include "assembly/source.h"
#include "base/result.h"

namespace headrace {

/// A block, and what of which arrays holds it.
struct SampledBlock {
  std::uint32_t block = 0;
  BlockTable::FileRows place;
  struct ArrayPieces {
    std::uint32_t array;
    std::vector<Piece> pieces;
  };
  std::vector<ArrayPieces> arrays;  ///< Those that are decoded with the block.
  std::uint64_t stored_bytes = 0;
};

/// Choose at most `most_blocks` blocks and `most_bytes` stored bytes (one block at least), at equal distances within at
/// most 8 files at equal distances. Reads chunk indexes. Errors: as ArrayReader::locate.
Result<std::vector<SampledBlock>> sample_blocks(const Source& source, const BlockLayout& layout,
                                                std::uint64_t most_blocks, std::uint64_t most_bytes);

}  // namespace headrace
