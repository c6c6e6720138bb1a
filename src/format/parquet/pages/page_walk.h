// PageWalk: where the pages of a column chunk lie, found by their headers, without reading anything itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "format/parquet/file_metadata.h"
#include "format/parquet/pages/page_header.h"

namespace headrace::parquet {

/// A data page.
struct PageEntry {
  ByteRange place;                ///< Its header and what follows.
  std::uint64_t first_row = 0;    ///< In its row group: of the column's array, so that those of lists are elements.
  std::uint64_t num_rows = 0;     ///< As first_row.
  std::uint64_t num_entries = 0;  ///< Values as its header counts them. Lists: an empty one is an entry, and no row.
};

/// What is known of a column chunk once its page headers were read.
struct PageTable {
  std::optional<ByteRange> dictionary;
  std::vector<PageEntry> pages;
};

/// Return the bytes in which the pages of a column chunk begin, up to where they must end.
/// Errors: kCorruptData  they are not within the file.
Result<ByteRange> chunk_range(const ColumnChunk& chunk, std::uint64_t file_bytes);

/// What the values of a page are.
enum class PageUnit : std::uint8_t {
  kRows,         ///< One a row.
  kListEntries,  ///< Elements of lists, and empty lists; rows are counted as if each were one: to_elements().
};

/// Threads: one.
class PageWalk {
 public:
  /// \param range  By chunk_range(). \param num_values  Of the chunk.
  PageWalk(ByteRange range, std::uint64_t num_values, PageUnit unit = PageUnit::kRows);
  /// Return the bytes that push() wants next, as many as a header usually has; nothing: the walk is at its end.
  [[nodiscard]] std::optional<ByteRange> needs() const { return needs_; }
  /// Take the bytes of needs(), or more from there on. Errors: kCorruptData.
  Status push(std::span<const std::byte> bytes);
  /// Return what was found so far.
  [[nodiscard]] const PageTable& table() const { return table_; }
  PageTable take() { return std::move(table_); }
  /// Return the header that push() took last, of whatever page it is.
  [[nodiscard]] const PageHeader& last_header() const { return last_; }

 private:
  Status need(std::uint64_t offset, std::uint64_t size);
  Status enter(const PageHeader& header);

  ByteRange range_;
  std::uint64_t num_values_, found_ = 0;
  PageUnit unit_;
  std::optional<ByteRange> needs_;
  PageHeader last_;
  PageTable table_;
};

}  // namespace headrace::parquet
