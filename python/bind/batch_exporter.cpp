#include "bind/batch_exporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "bind/field_memory.h"
#include "bind/text.h"

namespace headrace::python {
namespace {

nb::object checked(PyObject* object) {
  if (object == nullptr) throw nb::python_error();
  return nb::steal<nb::object>(object);
}

dlpack::DataType to_dlpack(const DType& dtype) {
  const auto bits = static_cast<std::uint8_t>(dtype.itemsize * 8);
  switch (dtype.kind) {
    case DType::Kind::kInt:
      return {0, bits, 1};
    case DType::Kind::kUInt:
      return {1, bits, 1};
    case DType::Kind::kFloat:
      return {2, bits, 1};
    case DType::Kind::kComplex:
      return {5, bits, 1};
    case DType::Kind::kBool:
      return {6, bits, 1};
    case DType::Kind::kBFloat:
      return {4, bits, 1};
    case DType::Kind::kBytes:
      break;
  }
  return {0, 0, 0};
}

/// NumPy's type; of bfloat16 that of ml_dtypes, None where that is not installed.
nb::object numpy_type(const nb::module_& numpy, const Field& field) {
  if (field.dtype.kind != DType::Kind::kBFloat) return numpy.attr("dtype")(field.dtype.numpy_typestr().c_str());
  try {
    return numpy.attr("dtype")(nb::module_::import_("ml_dtypes").attr("bfloat16"));
  } catch (const nb::python_error&) {
    return nb::none();
  }
}

void check_torch_has(const nb::module_& torch, const Field& field) {
  if (field.dtype.kind == DType::Kind::kBytes) {
    throw Error(ErrorCode::kUnsupported, fmt::format("fixed strings ({}) do not exist in torch", field.dtype.name()))
        .with_field(field.name)
        .with_stage("torch")
        .with_hint("Leave the field out with fields=[...], or use framework=\"numpy\".");
  }
  if (!nb::hasattr(torch, field.dtype.name().c_str())) {
    throw Error(ErrorCode::kUnsupported, fmt::format("this version of torch has no {}", field.dtype.name()))
        .with_field(field.name)
        .with_stage("torch")
        .with_hint("Use a newer torch, leave the field out with fields=[...], or use framework=\"numpy\".");
  }
}

/// What a DLPack consumer owns: the tensor's description and a share in the field's memory. Pure C++.
struct SharedTensor {
  dlpack::ManagedTensor managed;
  std::shared_ptr<void> holder;
  std::vector<std::int64_t> shape;
};

void delete_tensor(dlpack::ManagedTensor* managed) {
  delete static_cast<SharedTensor*>(managed->manager);
}

void delete_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, dlpack::kCapsuleName) == 0) return;  // taken: the consumer deletes
  delete_tensor(static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule, dlpack::kCapsuleName)));
}

}  // namespace

BatchExporter::BatchExporter(const std::vector<Field>& fields, Framework framework, BatchFormat format,
                             std::uint64_t usual_rows)
    : framework_(framework), format_(format), usual_rows_(usual_rows) {
  set_fields(fields);
}

void BatchExporter::set_fields(const std::vector<Field>& fields) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  make_ = numpy.attr("ndarray");
  std::vector<Column> columns;
  std::vector<std::optional<Column>> offsets;
  if (framework_ == Framework::kTorch) {
    const nb::module_ torch = nb::module_::import_("torch");
    for (const Field& field : fields) check_torch_has(torch, field);
    make_ = nb::module_::import_("torch.utils.dlpack").attr("from_dlpack");
  }
  for (const Field& field : fields) {
    columns.push_back(column_of(numpy, field));
    const bool ragged = field.dims.is_ragged();
    offsets.emplace_back();
    if (ragged) offsets.back() = column_of(numpy, {field.name + ".offsets", "", {DType::Kind::kInt, 8}, {}, {}});
  }
  columns_ = std::move(columns);
  offsets_ = std::move(offsets);
}

BatchExporter::Column BatchExporter::column_of(const nb::module_& numpy, const Field& field) const {
  Column column;
  column.key = to_python(field.name);
  PyObject* key = column.key.release().ptr();
  PyUnicode_InternInPlace(&key);  // batch["x"] then compares pointers
  column.key = nb::steal<nb::str>(key);
  column.name = field.name;
  column.dtype = numpy_type(numpy, field);
  column.shape = field.dims.row_shape();
  column.row_bytes = field.row_bytes();
  column.dlpack_dtype = to_dlpack(field.dtype);
  column.usual_shape = shape_tuple(column, usual_rows_);
  return column;
}

nb::object BatchExporter::shape_tuple(const Column& column, std::uint64_t rows, std::optional<std::uint64_t> width) {
  const std::size_t own = width ? 2 : 1;  // axes before those of a row
  nb::object shape = checked(PyTuple_New(static_cast<Py_ssize_t>(column.shape.size() + own)));
  const auto set = [&](std::size_t axis, std::uint64_t extent) {
    PyTuple_SetItem(shape.ptr(), static_cast<Py_ssize_t>(axis),
                    checked(PyLong_FromUnsignedLongLong(extent)).release().ptr());
  };
  set(0, rows);
  if (width) set(1, *width);
  for (std::size_t axis = 0; axis < column.shape.size(); ++axis) set(axis + own, column.shape[axis]);
  return shape;
}

nb::object BatchExporter::numpy_array(const Column& column, const Memory& memory) const {
  if (column.dtype.is_none())
    throw Error(ErrorCode::kUnsupported, "NumPy has no bfloat16 without the package ml_dtypes")
        .with_field(column.name)
        .with_hint("pip install ml_dtypes, or use framework=\"torch\".");
  const bool usual = memory.rows == usual_rows_ && !memory.width;
  const nb::object shape = usual ? column.usual_shape : shape_tuple(column, memory.rows, memory.width);
  const nb::object bytes = nb::cast(FieldMemory{memory.holder, memory.data, memory.cells() * column.row_bytes});
  PyObject* arguments[] = {nullptr, shape.ptr(), column.dtype.ptr(), bytes.ptr()};
  return checked(PyObject_Vectorcall(make_.ptr(), arguments + 1, 3 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
}

nb::object BatchExporter::torch_tensor(const Column& column, const Memory& memory) const {
  auto tensor = std::make_unique<SharedTensor>();
  tensor->holder = memory.holder;
  tensor->shape.reserve(column.shape.size() + 2);
  tensor->shape.push_back(static_cast<std::int64_t>(memory.rows));
  if (memory.width) tensor->shape.push_back(static_cast<std::int64_t>(*memory.width));
  for (const std::uint64_t extent : column.shape) tensor->shape.push_back(static_cast<std::int64_t>(extent));
  tensor->managed = {.tensor = {.data = memory.data,
                                .device = {dlpack::kCpu, 0},
                                .ndim = static_cast<std::int32_t>(tensor->shape.size()),
                                .dtype = column.dlpack_dtype,
                                .shape = tensor->shape.data(),
                                .strides = nullptr,
                                .byte_offset = 0},
                     .manager = tensor.get(),
                     .deleter = delete_tensor};
  const nb::object capsule = checked(PyCapsule_New(&tensor->managed, dlpack::kCapsuleName, delete_capsule));
  [[maybe_unused]] SharedTensor* const owned = tensor.release();  // by the capsule
  PyObject* arguments[] = {nullptr, capsule.ptr()};
  return checked(PyObject_Vectorcall(make_.ptr(), arguments + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
}

bool BatchExporter::has_offsets(const Batch& batch, std::size_t i) const {
  return offsets_[i] && !batch.array(i).width();
}

nb::object BatchExporter::operator()(const Batch& batch) const {
  const bool is_dict = format_ == BatchFormat::kDict;
  std::size_t num_arrays = columns_.size();
  for (std::size_t i = 0; i < columns_.size(); ++i) num_arrays += has_offsets(batch, i);
  nb::object result = checked(is_dict ? PyDict_New() : PyTuple_New(static_cast<Py_ssize_t>(num_arrays)));
  Py_ssize_t place = 0;
  const auto add = [&](const Column& column, const Memory& memory) {
    nb::object array = framework_ == Framework::kTorch ? torch_tensor(column, memory) : numpy_array(column, memory);
    if (!is_dict)
      PyTuple_SetItem(result.ptr(), place++, array.release().ptr());
    else if (PyDict_SetItem(result.ptr(), column.key.ptr(), array.ptr()) != 0)
      throw nb::python_error();
  };
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Tensor array = batch.array(i);
    add(columns_[i], {batch.holder(i), array.data(), array.rows(), array.width()});
    if (!has_offsets(batch, i)) continue;
    // Fields of equal lengths share their offsets; each array is its receiver's own, to write to.
    const auto own = std::make_shared<std::vector<std::int64_t>>(batch.offsets(i).begin(), batch.offsets(i).end());
    add(*offsets_[i], {own, reinterpret_cast<std::byte*>(own->data()), own->size(), {}});
  }
  return result;
}

}  // namespace headrace::python
