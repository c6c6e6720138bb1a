// Parquet files: each column that has a value a row is an array of rows, and each that has a list of values a row is an
// array of all their elements, with the lengths of the lists beside it (ArrayReader::list_lengths()).
//
// Read by ourselves and decoded on every thread: docs/decisions/0026 says why, and what is not read.
#pragma once

#include <memory>
#include <string>

#include "format/format_reader.h"

namespace headrace::parquet {

/// Open a Parquet file: reads its footer, by one or two reads.
/// Errors: kCorruptData  damaged or truncated; kUnsupported  encrypted; those of reading.
Result<std::shared_ptr<FormatReader>> open_parquet(std::shared_ptr<RandomAccessFile> file, const std::string& path);

}  // namespace headrace::parquet
