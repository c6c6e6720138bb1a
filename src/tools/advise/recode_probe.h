// What another codec would do with these data, measured on one decoded chunk.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/inspect/block_sample.h"

namespace headrace {

struct RecodedChunk {
  std::string codec;              ///< "as stored", "LZ4 + shuffle", "zstd-1 + shuffle".
  double ratio = 0;               ///< Decoded bytes / stored bytes.
  double decode_bytes_per_s = 0;  ///< One thread, decoded bytes.
  std::string name = {};          ///< What headrace rewrite --codec calls it; empty for "as stored".
};

struct RecodeProbe {
  std::string field;                 ///< Path of the array that was measured: the one with most bytes a row.
  std::uint64_t chunk_bytes = 0;     ///< Decoded.
  std::vector<RecodedChunk> codecs;  ///< As stored first.
};

/// Measure re-encoding, for `seconds` at most beside one decode and two encodings. Nothing in `codecs` where chunks
/// cannot be had.
Result<RecodeProbe> probe_recoding(const Source& source, const SampledBlock& block, double seconds);

}  // namespace headrace
