// ColumnArray: a column of a Parquet file as an array of rows.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "format/format_reader.h"
#include "format/parquet/file_metadata.h"
#include "format/parquet/leaf_column.h"
#include "format/parquet/page_values.h"

namespace headrace::parquet {

/// What the arrays of a file share.
struct OpenParquet {
  std::shared_ptr<const RandomAccessFile> file;
  std::string path;
  FileMetadata metadata;
  std::vector<LeafColumn> columns;
};

/// What the name of a nullable column's ColumnPart::kPresence ends in.
inline constexpr std::string_view kPresenceSuffix = ".valid";

/// What of a column is delivered.
enum class ColumnPart : std::uint8_t {
  kValues,        ///< Its elements; rows without one are an error.
  kFilledValues,  ///< Its elements, and the fill of NullPolicy::kFill.
  kPresence,      ///< One truth value a row: whether it has an element.
};

/// Return what the catalog says of a column, from the footer alone.
ArrayInfo describe_column(const OpenParquet& opened, const LeafColumn& column);

/// Open a column for reading; reads the header of one page.
/// Errors: kUnsupported  by its name and the reason; kCorruptData; those of reading.
Result<std::shared_ptr<ArrayReader>> open_column(std::shared_ptr<const OpenParquet> opened, std::size_t column,
                                                 ColumnPart part);

}  // namespace headrace::parquet
