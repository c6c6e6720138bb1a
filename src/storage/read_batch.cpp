#include "storage/read_batch.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

namespace headrace {

/// Fill order_: by file as the files were first met, and by offset within a file. Most batches are of one file.
void ReadBatch::order_by_file(std::span<const FileRange> ranges) {
  const auto by_offset = [&](std::uint32_t a, std::uint32_t b) {
    return ranges[a].range.offset < ranges[b].range.offset;
  };
  const auto other_file = [&](std::uint32_t i) { return ranges[i].file != ranges[order_[0]].file; };
  if (std::none_of(order_.begin(), order_.end(), other_file)) {
    if (!std::is_sorted(order_.begin(), order_.end(), by_offset)) std::sort(order_.begin(), order_.end(), by_offset);
    return;
  }
  files_.clear();
  for (const std::uint32_t i : order_)
    if (files_.empty() || files_.back().file != ranges[i].file) files_.push_back({ranges[i].file, i});
  const auto by_address = [](const FirstUse& a, const FirstUse& b) {
    return a.file == b.file ? a.range < b.range : std::less<>{}(a.file, b.file);
  };
  std::sort(files_.begin(), files_.end(), by_address);
  first_of_file_.resize(ranges.size());
  for (const std::uint32_t i : order_)
    first_of_file_[i] = std::lower_bound(files_.begin(), files_.end(), FirstUse{ranges[i].file, 0}, by_address)->range;
  std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return first_of_file_[a] == first_of_file_[b] ? by_offset(a, b) : first_of_file_[a] < first_of_file_[b];
  });
}

Result<std::uint64_t> ReadBatch::plan(std::span<const FileRange> ranges) {
  merged_.clear();
  buffer_ = {};
  buffer_bytes_ = 0;
  places_.assign(ranges.size(), {});
  order_.clear();
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const RandomAccessFile* const file = ranges[i].file;
    const ByteRange range = ranges[i].range;
    if (range.size == 0) continue;
    if (file == nullptr)
      return Error(ErrorCode::kInternal, "bytes to read of no file").with_bytes(range).with_stage("read");
    if (range.size > std::numeric_limits<std::uint64_t>::max() - range.offset)
      return Error(ErrorCode::kCorruptData, "a range of bytes ends past 2^64")
          .with_file(file->name())
          .with_bytes(range)
          .with_stage("read");
    order_.push_back(static_cast<std::uint32_t>(i));
  }
  order_by_file(ranges);

  for (const std::uint32_t i : order_) {
    const RandomAccessFile* const file = ranges[i].file;
    const ByteRange range = ranges[i].range;
    bool joins = false;
    if (!merged_.empty() && merged_.back().file == file) {
      ByteRange& last = merged_.back().range;
      const std::uint64_t end = std::max(last.end(), range.end());
      const bool near = range.offset <= last.end() || range.offset - last.end() <= options_.hole_bytes;
      joins = near && (end == last.end() || end - last.offset <= options_.target_bytes);
      if (joins) {
        buffer_bytes_ += end - last.end();
        last.size = end - last.offset;
      }
    }
    if (!joins) {
      if (range.size > std::numeric_limits<std::uint64_t>::max() - buffer_bytes_)
        return Error(ErrorCode::kCorruptData, "ranges of more than 2^64 bytes together")
            .with_file(file->name())
            .with_stage("read");
      buffer_bytes_ += range.size;
      merged_.push_back(ranges[i]);
    }
    // Merged ranges lie in the buffer one after the other, so the last one ends where the buffer does.
    const ByteRange& last = merged_.back().range;
    places_[i] = {buffer_bytes_ - last.size + (range.offset - last.offset), range.size};
  }
  return buffer_bytes_;
}

Status ReadBatch::read(std::span<std::byte> buffer) {
  buffer_ = buffer;
  return read_ranges(merged_, buffer);
}

}  // namespace headrace
