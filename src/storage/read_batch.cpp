#include "storage/read_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace headrace {

Result<std::uint64_t> ReadBatch::plan(std::span<const ByteRange> ranges) {
  merged_.clear();
  buffer_ = {};
  buffer_bytes_ = gap_bytes_ = 0;
  places_.assign(ranges.size(), {});
  order_.clear();
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].size > std::numeric_limits<std::uint64_t>::max() - ranges[i].offset)
      return Error(ErrorCode::kCorruptData, "a range of bytes ends past 2^64").with_bytes(ranges[i]).with_stage("read");
    if (ranges[i].size != 0) order_.push_back(static_cast<std::uint32_t>(i));
  }
  const auto before = [&](std::uint32_t a, std::uint32_t b) { return ranges[a].offset < ranges[b].offset; };
  if (!std::is_sorted(order_.begin(), order_.end(), before)) std::sort(order_.begin(), order_.end(), before);

  for (const std::uint32_t i : order_) {
    const ByteRange& range = ranges[i];
    bool joins = false;
    if (!merged_.empty()) {
      ByteRange& last = merged_.back();
      const std::uint64_t end = std::max(last.end(), range.end());
      const bool near = range.offset <= last.end() || range.offset - last.end() <= options_.hole_bytes;
      joins = near && (end == last.end() || end - last.offset <= options_.target_bytes);
      if (joins) {
        if (range.offset > last.end()) gap_bytes_ += range.offset - last.end();
        buffer_bytes_ += end - last.end();
        last.size = end - last.offset;
      }
    }
    if (!joins) {
      if (range.size > std::numeric_limits<std::uint64_t>::max() - buffer_bytes_)
        return Error(ErrorCode::kCorruptData, "ranges of more than 2^64 bytes together").with_stage("read");
      buffer_bytes_ += range.size;
      merged_.push_back(range);
    }
    // Merged ranges lie in the buffer one after the other, so the last one ends where the buffer does.
    places_[i] = {buffer_bytes_ - merged_.back().size + (range.offset - merged_.back().offset), range.size};
  }
  return buffer_bytes_;
}

Status ReadBatch::read(const RandomAccessFile& file, std::span<std::byte> buffer) {
  if (buffer.size() < buffer_bytes_)
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("the batch needs {} bytes, the buffer has {}", buffer_bytes_, buffer.size()))
        .with_file(file.name());
  buffer_ = buffer;
  std::size_t at = 0;
  for (const ByteRange& range : merged_) {
    HEADRACE_TRY(file.read_at(range.offset, buffer.subspan(at, range.size)));
    at += range.size;
  }
  return {};
}

}  // namespace headrace
