// ColumnArray: a column of a Parquet file as an array of rows.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "format/format_reader.h"
#include "format/parquet/open_parquet.h"

namespace headrace::parquet {

/// What the name of a nullable column's ColumnPart::kPresence ends in.
inline constexpr std::string_view kPresenceSuffix = ".valid";

/// What of a column is delivered.
enum class ColumnPart : std::uint8_t {
  kValues,        ///< Its elements; rows without one are an error.
  kFilledValues,  ///< Its elements, and the fill of NullPolicy::kFill.
  kPresence,      ///< One truth value a row: whether it has an element.
};

/// Open a column for reading; reads the header of one page. The first column of a list that is opened reads the levels
/// of all of its pages, or of a smaller column of that list: see count_lists().
/// Errors: kUnsupported  by its name and the reason; kCorruptData; kOutOfBudget  lists; those of reading.
Result<std::shared_ptr<ArrayReader>> open_column(std::shared_ptr<const OpenParquet> opened, std::size_t column,
                                                 ColumnPart part);

}  // namespace headrace::parquet
