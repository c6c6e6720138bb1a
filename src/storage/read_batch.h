// ReadBatch: many small ranges of one file read as few large ones.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "storage/random_access_file.h"

namespace headrace {

struct CoalesceOptions {
  /// Ranges that lie at most this far apart are read together, the hole included. 64 KiB cost about 8 µs from the page
  /// cache, less than a second request costs on any disk or network.
  std::uint64_t hole_bytes = std::uint64_t{64} << 10;
  /// No merged range is longer, unless one single range is.
  std::uint64_t target_bytes = std::uint64_t{8} << 20;
};

/// Plan once, read, look at the bytes; use again for the next batch: past the largest batch seen it allocates nothing.
/// Threads: one at a time.
class ReadBatch {
 public:
  explicit ReadBatch(CoalesceOptions options = {}) : options_(options) {}

  /// Plan to read `ranges`, in any order, overlapping or not. Returns the bytes that the buffer of read() must have.
  /// Errors: kCorruptData  a range ends past 2^64, or all together do.
  Result<std::uint64_t> plan(std::span<const ByteRange> ranges);
  /// Read what was planned. `buffer` must have the bytes that plan() returned, and live as long as bytes() is used.
  /// Errors: those of read_at, kInvalidArgument for a smaller buffer. Blocks: until the bytes are there.
  Status read(const RandomAccessFile& file, std::span<std::byte> buffer);
  /// Where the bytes of ranges[i] lie, after read().
  [[nodiscard]] std::span<const std::byte> bytes(std::size_t i) const {
    return buffer_.subspan(places_[i].buffer_offset, places_[i].size);
  }

  /// The reads that will be made, ascending by offset.
  [[nodiscard]] std::span<const ByteRange> merged() const { return merged_; }
  [[nodiscard]] std::uint64_t buffer_bytes() const { return buffer_bytes_; }
  /// Bytes that are read though nobody asked for them.
  [[nodiscard]] std::uint64_t gap_bytes() const { return gap_bytes_; }

 private:
  struct Place {
    std::size_t buffer_offset = 0, size = 0;
  };
  CoalesceOptions options_;
  std::vector<std::uint32_t> order_;
  std::vector<Place> places_;
  std::vector<ByteRange> merged_;
  std::span<std::byte> buffer_;
  std::uint64_t buffer_bytes_ = 0, gap_bytes_ = 0;
};

}  // namespace headrace
