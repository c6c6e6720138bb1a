// From the decompressed bytes of a page to the elements of some of its rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/memory/page_buffer.h"
#include "base/result.h"
#include "format/parquet/leaf_column.h"
#include "format/parquet/pages/page_header.h"
#include "format/parquet/pages/page_levels.h"

namespace headrace::parquet {

/// The elements that indices of a column chunk's pages stand for.
struct Dictionary {
  PageBuffer elements;  ///< row_bytes() of the column each; of the process's budget.
  std::size_t count = 0;
  [[nodiscard]] std::uint64_t charged_bytes() const { return elements.charged_bytes(); }
};

/// What is done where a row has no value.
enum class NullPolicy : std::uint8_t {
  kError,  ///< Refuse the page, by its first such row.
  kFill,   ///< NaN for floats, 0 for all else.
};

/// Write the elements of rows to `out`.
/// \param dictionary  Null: the column chunk has none. \param spare  At least the bytes of the page's values, and 8 a
/// row. Errors: kCorruptData; kUnsupported  an encoding that is not read for this type.
Status read_elements(const LeafColumn& column, const PageHeader& header, const PageBytes& page, PageRows rows,
                     const Dictionary* dictionary, NullPolicy nulls, std::span<std::byte> out,
                     std::span<std::byte> spare);

/// Decode the values of a dictionary page. Errors: kCorruptData, kUnsupported, kOutOfBudget.
Result<Dictionary> read_dictionary(const LeafColumn& column, const PageHeader& header, std::span<const std::byte> body);

/// Return why pages of this encoding cannot be read for this column; empty: they can.
std::string encoding_refusal(const LeafColumn& column, Encoding encoding);

}  // namespace headrace::parquet
