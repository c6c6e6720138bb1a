// A field: one named part of a sample.
#pragma once

#include <headrace/catalog/dtype.h>

#include <cstdint>
#include <string>
#include <vector>

namespace headrace {

/// One named part of every sample: a dense array of `shape`, so a batch of n has shape (n, *shape).
struct Field {
  std::string name;                  ///< Key in a batch.
  std::string path;                  ///< Where it lies in the file, for example "feature_matrix".
  DType dtype;                       ///< As stored, in native byte order.
  std::vector<std::uint64_t> shape;  ///< Of one sample; empty for a scalar.

  /// Elements a sample.
  [[nodiscard]] std::uint64_t row_elements() const;
  /// Bytes a sample.
  [[nodiscard]] std::uint64_t row_bytes() const { return row_elements() * dtype.itemsize; }
};

}  // namespace headrace
