// SampleRef: one sample, by the block it is shuffled with.
#pragma once

#include <cstdint>

namespace headrace {

/// One sample: a row of a block, or the row-th sample of a shuffle block.
struct SampleRef {
  std::uint32_t block = 0;
  std::uint32_t row = 0;
  friend bool operator==(const SampleRef&, const SampleRef&) = default;
};

/// Some rows of a block, whichever they are.
struct BlockRows {
  std::uint32_t block = 0;
  std::uint32_t rows = 0;
  friend bool operator==(const BlockRows&, const BlockRows&) = default;
};

}  // namespace headrace
