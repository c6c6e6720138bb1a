// The levels of a page: which of its rows have a value, and which of its entries are elements of lists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "format/parquet/leaf_column.h"
#include "format/parquet/pages/page_header.h"

namespace headrace::parquet {

/// A page without its header, decompressed.
struct PageBytes {
  std::span<const std::byte> repetition;  ///< Repetition levels; empty where the column is no list.
  std::span<const std::byte> levels;      ///< Definition levels; empty where the column cannot be null.
  std::span<const std::byte> values;
};

/// Divide the decompressed bytes of a data page. Of a page of version 2 the first ones do, up to its values.
/// Errors: kCorruptData; kUnsupported  levels of the oldest encoding.
Result<PageBytes> divide_page(const LeafColumn& column, const PageHeader& header, std::span<const std::byte> body);

/// Rows of a page: those of the column's array, so that in lists they are elements.
struct PageRows {
  std::uint64_t skip = 0, count = 0;
  std::uint64_t number = 0;  ///< Number in the array of the first of them, for messages.
  std::uint64_t all = 0;     ///< Lists: all of the page, by the lengths of the lists.
};

/// Return whether it takes no look at the rows to know that each has a value, as in most pages of nullable columns.
/// In pages of lists each entry is an element then.
bool is_full(const LeafColumn& column, const PageHeader& header, const PageBytes& page);

/// Refuse a page of lists whose levels end early, or that is full and has other elements than the lengths of its lists
/// say. Errors: kCorruptData.
Status check_list_page(const PageHeader& header, const PageBytes& page, std::uint64_t elements, bool full);

/// Write one byte a row to `out`: 1 if it has a value. \return Rows with a value, before the first of `rows` and among
/// them. Errors: kCorruptData, also for a page of lists that has other elements than `rows` says.
struct Present {
  std::uint64_t before = 0, among = 0;
};
Result<Present> read_presence(const LeafColumn& column, const PageHeader& header, const PageBytes& page, PageRows rows,
                              std::uint8_t* out);

/// Return bits of a definition level.
std::uint32_t level_bits(const LeafColumn& column);

}  // namespace headrace::parquet
