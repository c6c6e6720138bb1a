// RleReader: the hybrid of repeated and bit-packed runs in which levels, dictionary indices and truth values are
// stored.
//
// Source: Encodings.md of apache/parquet-format, "Run Length Encoding / Bit-Packing Hybrid (RLE = 3)".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"

namespace headrace::parquet {

/// Some of the numbers of a run.
struct RleRun {
  std::size_t count = 0;
  bool repeated = false;  ///< All are `value`; else they were written to where next() was told to.
  std::uint32_t value = 0;
};

/// Threads: one.
class RleReader {
 public:
  /// \param bit_width  Bits a number, at most 32.
  RleReader(std::span<const std::byte> bytes, std::uint32_t bit_width);

  /// Read up to `most` numbers, at least one; those of a bit-packed run go to `out`.
  /// Errors: kCorruptData  the bytes end, or a run is longer than they are.
  Result<RleRun> next(std::uint32_t* out, std::size_t most);
  /// Pass over `count` numbers. Errors: as next().
  Status skip(std::uint64_t count);
  /// Return whether the next `count` numbers are one run of `value`. Reads none of them. False also where it is
  /// damaged.
  bool repeats(std::uint32_t value, std::uint64_t count);
  /// Return whether all numbers were read.
  [[nodiscard]] bool at_end() const { return left_ == 0 && bytes_.empty(); }

 private:
  Status begin_run();

  std::span<const std::byte> bytes_;  // what is left, without the run
  std::uint32_t bit_width_;
  std::uint64_t left_ = 0;  // of the run
  bool repeated_ = false;
  std::uint32_t value_ = 0;
  std::span<const std::byte> packed_;
  std::uint64_t packed_at_ = 0;  // numbers of the packed run that were read
};

/// Write `count` numbers of `bit_width` bits, from the `first` of `packed` on, to `out`. `packed` has bytes enough.
void unpack_bits(std::span<const std::byte> packed, std::uint32_t bit_width, std::uint64_t first, std::size_t count,
                 std::uint32_t* out);

}  // namespace headrace::parquet
