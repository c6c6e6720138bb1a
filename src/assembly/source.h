// Source: the files and arrays behind a data set's fields.
#pragma once

#include <headrace/catalog/field.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "format/format_reader.h"

namespace headrace {

struct SourceFile {
  std::string path;
  std::uint64_t rows = 0;
  std::vector<std::shared_ptr<ArrayReader>> arrays;  ///< One for each array of the source.
};

/// Immutable once made. Arrays are numbered alike in every file; several fields may be columns of one array.
struct Source {
  struct Place {
    std::uint32_t array;
    std::uint32_t column;
  };
  std::shared_ptr<const std::vector<Field>> fields;
  std::vector<Place> places;  ///< One for each field.
  std::vector<SourceFile> files;

  [[nodiscard]] std::size_t num_arrays() const { return files.empty() ? 0 : files[0].arrays.size(); }
  [[nodiscard]] std::uint64_t row_bytes() const {
    std::uint64_t n = 0;
    for (const Field& f : *fields) n += f.row_bytes();
    return n;
  }
};

}  // namespace headrace
