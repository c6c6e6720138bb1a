// A field: one named part of a sample, as a batch has it.
#pragma once

#include <headrace/dims.h>
#include <headrace/dtype.h>

#include <cstdint>
#include <string>

namespace headrace {

/// Device whose memory holds an array.
struct Device {
  /// Kinds of memory.
  enum class Kind : std::uint8_t {
    kCpu,  ///< Memory of the host.
  };
  Kind kind = Kind::kCpu;  ///< Kind of memory.
  std::int32_t index = 0;  ///< Number of the device among those of its kind.
  friend bool operator==(const Device&, const Device&) = default;
};

/// One named part of every sample. A batch of n samples has an array of shape (n, *dims). For a ragged field it has the
/// rows of all samples, one after the other, and offsets that say where the rows of each sample begin.
struct Field {
  std::string name;    ///< Key in a batch.
  std::string path;    ///< Path of the array in the file, for example "feature_matrix".
  DType dtype;         ///< Type of its elements.
  Dims dims;           ///< Extents of one sample; empty for a scalar.
  Device device = {};  ///< Device whose memory holds its arrays.

  /// Return the number of elements in a row: a whole sample, unless the field is ragged.
  [[nodiscard]] std::uint64_t row_elements() const { return dims.row_elements(); }
  /// Return the bytes of a row.
  [[nodiscard]] std::uint64_t row_bytes() const { return row_elements() * dtype.itemsize; }
};

}  // namespace headrace
