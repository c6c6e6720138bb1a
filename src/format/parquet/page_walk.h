// PageWalk: where the pages of a column chunk lie, found by their headers, without reading anything itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "format/parquet/file_metadata.h"
#include "format/parquet/page_header.h"

namespace headrace::parquet {

/// A data page.
struct PageEntry {
  ByteRange place;              ///< Its header and what follows.
  std::uint64_t first_row = 0;  ///< In its row group.
  std::uint64_t num_rows = 0;
};

/// What is known of a column chunk once its page headers were read.
struct PageTable {
  std::optional<ByteRange> dictionary;
  std::vector<PageEntry> pages;
};

/// Return the bytes in which the pages of a column chunk begin, up to where they must end.
/// Errors: kCorruptData  they are not within the file.
Result<ByteRange> chunk_range(const ColumnChunk& chunk, std::uint64_t file_bytes);

/// Threads: one. For columns without repetition levels, in which a row is a value.
class PageWalk {
 public:
  /// \param range  By chunk_range(). \param num_values  Of the chunk.
  PageWalk(ByteRange range, std::uint64_t num_values);
  /// Return the bytes that push() wants next, as many as a header usually has; nothing: the walk is at its end.
  [[nodiscard]] std::optional<ByteRange> needs() const { return needs_; }
  /// Take the bytes of needs(), or more from there on. Errors: kCorruptData.
  Status push(std::span<const std::byte> bytes);
  PageTable take() { return std::move(table_); }

 private:
  Status need(std::uint64_t offset, std::uint64_t size);
  Status enter(const PageHeader& header);

  ByteRange range_;
  std::uint64_t num_values_, found_ = 0;
  std::optional<ByteRange> needs_;
  PageTable table_;
};

}  // namespace headrace::parquet
