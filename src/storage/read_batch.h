// ReadBatch: many small ranges of some files read as few large ones.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "storage/file_range.h"

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

  /// Plan to read `ranges`, in any order, overlapping or not, of one file or of many. Ranges are merged within a file.
  /// Returns the bytes that the buffer of read() must have.
  /// Errors: kCorruptData  a range ends past 2^64, or all together do (with its file); kInternal  a range with bytes
  /// and no file.
  Result<std::uint64_t> plan(std::span<const FileRange> ranges);
  /// Read what was planned, file after file in the order in which plan() first met them, as read_ranges() does.
  /// `buffer` must have the bytes that plan() returned, and live as long as bytes() is used.
  /// Errors: those of read_ranges(). Blocks: until the bytes are there.
  Status read(std::span<std::byte> buffer);
  /// Return where the bytes of ranges[i] lie, after read().
  [[nodiscard]] std::span<const std::byte> bytes(std::size_t i) const {
    return buffer_.subspan(places_[i].buffer_offset, places_[i].size);
  }

  /// Return the reads that will be made: the ranges of a file follow each other, ascending by offset.
  [[nodiscard]] std::span<const FileRange> merged() const { return merged_; }
  [[nodiscard]] std::uint64_t buffer_bytes() const { return buffer_bytes_; }

 private:
  struct BufferRange {
    std::size_t buffer_offset = 0, size = 0;
  };
  struct FirstUse {
    const RandomAccessFile* file;
    std::uint32_t range;
  };
  void order_by_file(std::span<const FileRange> ranges);

  CoalesceOptions options_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> first_of_file_;  // for each range, the first range of the same file
  std::vector<FirstUse> files_;
  std::vector<BufferRange> places_;
  std::vector<FileRange> merged_;
  std::span<std::byte> buffer_;
  std::uint64_t buffer_bytes_ = 0;
};

}  // namespace headrace
