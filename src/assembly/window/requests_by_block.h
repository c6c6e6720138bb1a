// Samples grouped by the block that they are rows of, so that each block is read once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "assembly/window/wanted.h"
#include "catalog/sample_ref.h"

namespace headrace {

/// Requests in the order of their blocks; of one block in the order of their positions.
struct RequestsByBlock {
  struct Block {
    std::uint32_t unit;
    std::size_t begin, end;  ///< Range of `requests`.
    bool first = false;      ///< Whether the batch is the first of its epoch to ask for the block.
  };
  std::vector<Request> requests;  ///< Stored rows and their positions.
  std::vector<Block> blocks;

  explicit RequestsByBlock(std::span<const SampleRef> samples);
  [[nodiscard]] std::span<const Request> of(const Block& block) const {
    return std::span(requests).subspan(block.begin, block.end - block.begin);
  }
};

}  // namespace headrace
