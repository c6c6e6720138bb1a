// LengthCounter: from the levels of a column's pages to the lengths of its lists. No I/O here.
//
// Source: the README of apache/parquet-format, "Nested Encoding". Each entry has a repetition level, 0 where a row
// begins, and a definition level, which says down to which node of its path something is there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "format/parquet/leaf_column.h"
#include "format/parquet/pages/page_levels.h"

namespace headrace::parquet {

/// The lists of a row group.
struct GroupLengths {
  std::vector<std::uint32_t> lengths;           ///< Elements of each row; 0 for empty and null lists.
  std::uint64_t elements = 0;                   ///< All of them.
  std::uint64_t entries = 0;                    ///< What a column of these lists has: an empty list is one, too.
  std::optional<std::uint64_t> first_null_row;  ///< In the row group: the first row that has no list.
};

/// Counts the lists of a row group, page by page. Threads: one.
class LengthCounter {
 public:
  /// \param column  A list; must live as long. \param num_rows  Of the row group; there must be memory for as many.
  LengthCounter(const LeafColumn& column, std::uint64_t num_rows);
  /// Count the entries of the next page, which may begin and end within a list. \param entries  By its header.
  /// Errors: kCorruptData  levels that end early or contradict each other, or more lists than rows.
  Status push(const PageBytes& page, std::uint64_t entries);
  /// Return the lists, after the last page. Errors: kCorruptData  fewer lists than rows.
  Result<GroupLengths> take();

 private:
  struct Run;  // entries that have the same levels
  Status count(const Run& run);

  const LeafColumn& column_;
  const std::uint64_t num_rows_;
  GroupLengths found_;
};

}  // namespace headrace::parquet
