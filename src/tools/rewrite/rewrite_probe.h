// What rewriting will cost and gain, measured on a few chunks before anything is written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/rewrite/rewrite_plan.h"
#include "tools/rewrite/rewrite_run.h"

namespace headrace {

struct MeasuredCodec {
  std::string name;  ///< As in --codec.
  ChunkCoding coding;
  double ratio = 0;               ///< Decoded bytes / stored bytes.
  double encode_bytes_per_s = 0;  ///< One thread, decoded bytes.
  double decode_bytes_per_s = 0;
};

struct RewriteForecast {
  std::string array;                     ///< That was measured: the one with most bytes.
  std::uint64_t sample_bytes = 0;        ///< Decoded.
  double source_read_bytes_per_s = 0;    ///< One thread, decoded bytes, with reading: what rewriting takes.
  double source_decode_bytes_per_s = 0;  ///< One thread, decoding alone, as it is measured of the codecs; 0: unknown.
  double source_ratio = 0;
  bool stored_so = false;  ///< The array has this codec and these chunks already.
  std::vector<MeasuredCodec> codecs;
  std::size_t chosen = 0;  ///< In codecs.
  std::uint64_t output_bytes = 0;
  double seconds = 0;

  [[nodiscard]] const MeasuredCodec& best() const { return codecs[chosen]; }
  /// Return how many times as fast decoding gets; 1 where the difference is within the noise of two measurements (a
  /// sixth), where one of them is missing, or where nothing changes.
  [[nodiscard]] double faster() const;
  /// Return true if decoding gets faster, or files smaller, by a sixth at least.
  [[nodiscard]] bool pays() const;
};

/// Measure for about a second, choose the codec that `plan.options.codec` names (of "auto": the one that loads fastest,
/// from memory and from a disk of some 500 MB/s), and settle the plan's storage with it.
/// Errors: those of reading; kUnsupported  a codec that this build is without.
Result<RewriteForecast> probe_rewrite(RewritePlan& plan, std::uint32_t threads);

/// Say what it will take: bytes and seconds. After settle_storage().
void forecast_cost(const RewritePlan& plan, const RewriteMemory& memory, RewriteForecast& forecast);

}  // namespace headrace
