// BatchExporter: a Batch as the Python object a training step receives, without copying a byte.
//
// Each field becomes one array over the batch's own memory, kept alive by that field's holder alone: an array that the
// user keeps does not keep the others. What can be made once (keys, dtypes, shapes, the constructor) is made once; the
// rest is one or two calls a field. Life time: the arrays outlive the exporter, the loader and the Batch.
// Threads: every member needs the GIL, the destructor too. Letting go of a torch tensor's memory does not.
#pragma once

#include <headrace/batch.h>
#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bind/dlpack_abi.h"

namespace headrace::python {

namespace nb = nanobind;

enum class Framework : std::uint8_t { kNumpy, kTorch };
enum class BatchFormat : std::uint8_t { kDict, kTuple };

class BatchExporter {
 public:
  /// \param usual_rows  Rows of nearly all batches, whose shapes are made ahead.
  /// Errors: kUnsupported for an element type that the framework does not have.
  BatchExporter(const std::vector<Field>& fields, Framework framework, BatchFormat format, std::uint64_t usual_rows);

  /// Take other fields, if they are as many others: a loader's later batches may have "_weight", and others not.
  void follow(const std::vector<Field>& fields) {
    if (fields.size() != columns_.size()) set_fields(fields);
  }

  /// Return a dict in field order, or a tuple. Behind a ragged field "x" comes "x.offsets", int64: where each sample's
  /// rows begin in it, and at last how many there are; not where samples are filled up to one length.
  [[nodiscard]] nb::object operator()(const Batch& batch) const;

 private:
  void set_fields(const std::vector<Field>& fields);
  struct Column {
    nb::str key;
    std::string name;
    nb::object dtype;                  ///< numpy.dtype
    nb::object usual_shape;            ///< (usual_rows, *shape)
    std::vector<std::uint64_t> shape;  ///< Shape of one sample.
    std::uint64_t row_bytes;
    dlpack::DataType dlpack_dtype;
  };
  /// Memory of one array.
  struct Memory {
    std::shared_ptr<void> holder;
    std::byte* data;
    std::uint64_t rows;
    std::optional<std::uint64_t> width;  ///< Rows that each sample was filled up to.
    [[nodiscard]] std::uint64_t cells() const { return rows * width.value_or(1); }
  };
  [[nodiscard]] nb::object numpy_array(const Column& column, const Memory& memory) const;
  [[nodiscard]] nb::object torch_tensor(const Column& column, const Memory& memory) const;
  [[nodiscard]] bool has_offsets(const Batch& batch, std::size_t i) const;
  [[nodiscard]] Column column_of(const nb::module_& numpy, const Field& field) const;
  [[nodiscard]] static nb::object shape_tuple(const Column& column, std::uint64_t rows,
                                              std::optional<std::uint64_t> width = {});

  Framework framework_;
  BatchFormat format_;
  std::uint64_t usual_rows_;
  nb::object make_;  ///< numpy.ndarray or torch.utils.dlpack.from_dlpack
  std::vector<Column> columns_;
  std::vector<std::optional<Column>> offsets_;  ///< One for each column; nullopt: it is dense.
};

}  // namespace headrace::python
