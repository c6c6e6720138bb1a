// StoredColumn: what a file stores of every row, under the name of the field that it becomes.
#pragma once

#include <headrace/field.h>

#include <cstdint>
#include <string>
#include <vector>

namespace headrace {

/// One column of a file's rows: a dense array of `shape` a row.
struct StoredColumn {
  std::string name;                  ///< Name of the field.
  std::string path;                  ///< Where it lies in the file, for example "feature_matrix".
  DType dtype;                       ///< As stored, in native byte order.
  std::vector<std::uint64_t> shape;  ///< Shape of one row; empty for a scalar.

  /// Return the elements of a row.
  [[nodiscard]] std::uint64_t row_elements() const;
  /// Return the bytes of a row.
  [[nodiscard]] std::uint64_t row_bytes() const { return row_elements() * dtype.itemsize; }
  /// Return the field that delivers it as it is stored, a row a sample.
  [[nodiscard]] Field field() const { return {name, path, dtype, Dims(shape), {}}; }
};

/// Return the field of each column.
std::vector<Field> fields_of(const std::vector<StoredColumn>& columns);

}  // namespace headrace
