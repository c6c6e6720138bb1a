// A field: one named part of a sample, as a batch has it.
#pragma once

#include <headrace/catalog/dims.h>
#include <headrace/catalog/dtype.h>

#include <cstdint>
#include <string>

namespace headrace {

/// Device whose memory holds an array.
struct Device {
  enum class Kind : std::uint8_t { kCpu };
  Kind kind = Kind::kCpu;
  std::int32_t index = 0;
  friend bool operator==(const Device&, const Device&) = default;
};

/// One named part of every sample. A batch of n samples has an array of shape (n, *dims). For a ragged field it has the
/// rows of all samples, one after the other, and offsets that say where the rows of each sample begin.
struct Field {
  std::string name;  ///< Key in a batch.
  std::string path;  ///< Path of the array in the file, for example "feature_matrix".
  DType dtype;
  Dims dims;  ///< Extents of one sample; empty for a scalar.
  Device device = {};

  /// Return the number of elements in a row: a whole sample, unless the field is ragged.
  [[nodiscard]] std::uint64_t row_elements() const { return dims.row_elements(); }
  /// Return the bytes of a row.
  [[nodiscard]] std::uint64_t row_bytes() const { return row_elements() * dtype.itemsize; }
};

}  // namespace headrace
