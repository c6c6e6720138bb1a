// DeltaReader: integers stored as differences, in blocks of bit-packed miniblocks.
//
// Source: Encodings.md of apache/parquet-format, "Delta Encoding (DELTA_BINARY_PACKED = 5)".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"

namespace headrace::parquet {

/// Threads: one.
class DeltaReader {
 public:
  explicit DeltaReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  /// Read the header. Errors: kCorruptData.
  Status begin();
  /// Return how many values there are, by the header.
  [[nodiscard]] std::uint64_t num_values() const { return num_values_; }
  /// Read the next `count` values; sums wrap, as the specification says. Errors: kCorruptData  the bytes end.
  Status next(std::int64_t* out, std::size_t count);

 private:
  Result<std::uint64_t> varint();
  Status begin_miniblock();

  std::span<const std::byte> bytes_;  // what is left
  std::uint64_t num_values_ = 0, given_ = 0;
  std::uint64_t miniblocks_ = 0, miniblock_values_ = 0;
  std::uint64_t value_ = 0;  // the last one
  std::uint64_t min_delta_ = 0;
  std::span<const std::byte> widths_;  // of the block's miniblocks that are still to come
  std::span<const std::byte> packed_;  // of the miniblock
  std::uint32_t width_ = 0;
  std::uint64_t at_ = 0;  // in the miniblock
};

}  // namespace headrace::parquet
