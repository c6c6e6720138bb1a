#include "format/hdf5/types/number_type.h"

#include <fmt/format.h>

#include <cstdint>
#include <vector>

namespace headrace::hdf5 {
namespace {

Id half_float() {  // IEEE 754 binary16, as h5py makes it
  Id type(H5Tcopy(H5T_IEEE_F32LE));
  H5Tset_fields(type.get(), 15, 10, 5, 0, 10);
  H5Tset_size(type.get(), 2);
  H5Tset_ebias(type.get(), 15);
  return type;
}

Id boolean() {
  Id type(H5Tenum_create(H5T_NATIVE_INT8));
  const std::int8_t no = 0, yes = 1;
  H5Tenum_insert(type.get(), "FALSE", &no);
  H5Tenum_insert(type.get(), "TRUE", &yes);
  return type;
}

Id number(DType::Kind kind, std::uint32_t bytes) {
  const bool is_signed = kind == DType::Kind::kInt;
  if (kind == DType::Kind::kFloat)
    return bytes == 2   ? half_float()
           : bytes == 4 ? Id(H5Tcopy(H5T_NATIVE_FLOAT))
           : bytes == 8 ? Id(H5Tcopy(H5T_NATIVE_DOUBLE))
                        : Id();
  switch (bytes) {
    case 1:
      return Id(H5Tcopy(is_signed ? H5T_NATIVE_INT8 : H5T_NATIVE_UINT8));
    case 2:
      return Id(H5Tcopy(is_signed ? H5T_NATIVE_INT16 : H5T_NATIVE_UINT16));
    case 4:
      return Id(H5Tcopy(is_signed ? H5T_NATIVE_INT32 : H5T_NATIVE_UINT32));
    case 8:
      return Id(H5Tcopy(is_signed ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64));
    default:
      return {};
  }
}

Id type_of(const DType& dtype) {
  switch (dtype.kind) {
    case DType::Kind::kBool:
      return boolean();
    case DType::Kind::kComplex: {
      const Id part = number(DType::Kind::kFloat, dtype.itemsize / 2);
      if (!part.ok()) return {};
      Id type(H5Tcreate(H5T_COMPOUND, dtype.itemsize));
      H5Tinsert(type.get(), "r", 0, part.get());
      H5Tinsert(type.get(), "i", dtype.itemsize / 2, part.get());
      return type;
    }
    case DType::Kind::kBytes: {
      Id type(H5Tcopy(H5T_C_S1));
      H5Tset_size(type.get(), dtype.itemsize);
      H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
      return type;
    }
    default:
      return number(dtype.kind, dtype.itemsize);
  }
}

}  // namespace

Result<Id> type_of_columns(const LibraryLock&, const ArrayInfo& array) {
  const auto refuse = [&](const std::string& what) -> Error {
    return Error(ErrorCode::kUnsupported, fmt::format("there is no HDF5 type for {}", what)).with_field(array.path);
  };
  if (!array.is_record) {
    Id type = type_of(array.columns.front().dtype);
    if (!type.ok()) return refuse(array.columns.front().dtype.name());
    return type;
  }
  Id record(H5Tcreate(H5T_COMPOUND, array.record_bytes));
  for (const Column& column : array.columns) {
    Id type = type_of(column.dtype);
    if (type.ok() && !column.inner_shape.empty()) {
      const std::vector<hsize_t> extents(column.inner_shape.begin(), column.inner_shape.end());
      type = Id(H5Tarray_create2(type.get(), static_cast<unsigned>(extents.size()), extents.data()));
    }
    if (!type.ok() || column.name.find('.') != std::string::npos ||
        H5Tinsert(record.get(), column.name.c_str(), column.offset, type.get()) < 0)
      return refuse(fmt::format("its member {} of type {}", column.name, column.dtype.name()));
  }
  return record;
}

}  // namespace headrace::hdf5
