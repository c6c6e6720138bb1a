#include "format/parquet/pages/page_walk.h"

#include <fmt/format.h>

#include <algorithm>

#include "codec/coded_bytes.h"

namespace headrace::parquet {
namespace {

constexpr std::uint64_t kHeaderGuessBytes = 256;
constexpr std::uint64_t kMostHeaderBytes = 16 << 20;  // statistics of long texts are part of it
// Some old writers left the dictionary's header out of a chunk's size (PARQUET-816).
constexpr std::uint64_t kSlackBytes = 100;

}  // namespace

Result<ByteRange> chunk_range(const ColumnChunk& chunk, std::uint64_t file_bytes) {
  const std::uint64_t begin = chunk.begin();
  if (begin < 4 || begin > file_bytes || chunk.stored_bytes > file_bytes - begin)
    return corrupt(
        fmt::format("its pages should be {} bytes from {} on, in a file of {}", chunk.stored_bytes, begin, file_bytes));
  return ByteRange{begin, std::min(chunk.stored_bytes + kSlackBytes, file_bytes - begin)};
}

PageWalk::PageWalk(ByteRange range, std::uint64_t num_values, PageUnit unit)
    : range_(range), num_values_(num_values), unit_(unit) {
  if (num_values > 0) needs_ = ByteRange{range.offset, std::min(kHeaderGuessBytes, range.size)};
}

Status PageWalk::need(std::uint64_t offset, std::uint64_t size) {
  if (offset >= range_.end())
    return corrupt(fmt::format("its pages have {} of {} values", found_, num_values_))
        .with_bytes({range_.offset, range_.size});
  needs_ = ByteRange{offset, std::min(size, range_.end() - offset)};
  return {};
}

Status PageWalk::push(std::span<const std::byte> bytes) {
  const ByteRange asked = *needs_;
  auto parsed = parse_page_header(bytes);
  if (!parsed.ok()) return std::move(parsed.error().with_bytes(asked));
  if (!*parsed) {
    if (asked.size >= kMostHeaderBytes || asked.end() >= range_.end())
      return corrupt("a page header ends in the middle").with_bytes(asked);
    return need(asked.offset, asked.size * 8);
  }
  last_ = **parsed;
  return enter(last_);
}

Status PageWalk::enter(const PageHeader& header) {
  const ByteRange place{needs_->offset, header.page_bytes()};
  if (place.end() > range_.end())
    return corrupt(
               fmt::format("a page of {} bytes, where its column has {} left", place.size, range_.end() - place.offset))
        .with_bytes(place);
  if (header.is_data()) {
    if (unit_ == PageUnit::kRows && header.kind == PageKind::kDataV2 && header.num_rows != header.num_values)
      return corrupt(fmt::format("a page of {} values in {} rows", header.num_values, header.num_rows))
          .with_bytes(place);
    if (header.num_values > num_values_ - found_)
      return corrupt(fmt::format("its pages have more than {} values", num_values_)).with_bytes(place);
    if (header.num_values > 0) table_.pages.push_back({place, found_, header.num_values, header.num_values});
    found_ += header.num_values;
  } else if (header.kind == PageKind::kDictionary) {
    if (table_.dictionary || !table_.pages.empty())
      return corrupt("a second dictionary, or one behind its data").with_bytes(place);
    table_.dictionary = place;
  }
  if (found_ == num_values_) {
    needs_.reset();
    return {};
  }
  return need(place.end(), kHeaderGuessBytes);
}

}  // namespace headrace::parquet
