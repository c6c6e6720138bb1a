// From the decompressed bytes of a page to the elements of some of its rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "format/parquet/leaf_column.h"
#include "format/parquet/page_header.h"

namespace headrace::parquet {

/// The elements that indices of a column chunk's pages stand for.
struct Dictionary {
  std::vector<std::byte> elements;  ///< row_bytes() of the column each.
  std::size_t count = 0;
};

/// What is done where a row has no value.
enum class NullPolicy : std::uint8_t {
  kError,  ///< Refuse the page, by its first such row.
  kFill,   ///< NaN for floats, 0 for all else.
};

/// A page without its header, decompressed.
struct PageBytes {
  std::span<const std::byte> levels;  ///< Definition levels; empty where the column cannot be null.
  std::span<const std::byte> values;
};

/// Divide the decompressed bytes of a data page. \param column  Without repetition levels.
/// Errors: kCorruptData; kUnsupported  levels of the oldest encoding.
Result<PageBytes> divide_page(const LeafColumn& column, const PageHeader& header, std::span<const std::byte> body);

/// Rows of a page.
struct PageRows {
  std::uint64_t skip = 0, count = 0;
  std::uint64_t file_row = 0;  ///< Number in the file of the first of them, for messages.
};

/// Return whether it takes no look at the rows to know that each has a value, as in most pages of nullable columns.
bool is_full(const LeafColumn& column, const PageHeader& header, const PageBytes& page);

/// Write one byte a row to `out`: 1 if it has a value. \return Rows with a value, before the first of `rows` and among
/// them. Errors: kCorruptData.
struct Present {
  std::uint64_t before = 0, among = 0;
};
Result<Present> read_presence(const LeafColumn& column, const PageHeader& header, const PageBytes& page, PageRows rows,
                              std::uint8_t* out);

/// Write the elements of rows to `out`.
/// \param dictionary  Null: the column chunk has none. \param spare  At least the bytes of the page's values, and 8 a
/// row. Errors: kCorruptData; kUnsupported  an encoding that is not read for this type.
Status read_elements(const LeafColumn& column, const PageHeader& header, const PageBytes& page, PageRows rows,
                     const Dictionary* dictionary, NullPolicy nulls, std::span<std::byte> out,
                     std::span<std::byte> spare);

/// Decode the values of a dictionary page. Errors: kCorruptData, kUnsupported.
Result<Dictionary> read_dictionary(const LeafColumn& column, const PageHeader& header, std::span<const std::byte> body);

/// Return why pages of this encoding cannot be read for this column; empty: they can.
std::string encoding_refusal(const LeafColumn& column, Encoding encoding);

}  // namespace headrace::parquet
