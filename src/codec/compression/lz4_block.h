// One LZ4 block without any framing: what Parquet's LZ4_RAW pages are, and what lies inside Hadoop's frames.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"

namespace headrace {

/// Decode one block, which ends where `in` ends, into the front of `out`. \return Bytes written.
/// Errors: kCorruptData  the block is damaged, or holds more than out.size() bytes: LZ4 does not tell which.
Result<std::size_t> decode_lz4_block(std::span<const std::byte> in, std::span<std::byte> out);

}  // namespace headrace
