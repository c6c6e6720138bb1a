#include "format/hdf5/types/memory_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace headrace::hdf5 {
namespace {

struct FloatFields {
  std::size_t sign = 0, exponent_at = 0, exponent = 0, mantissa_at = 0, mantissa = 0, bias = 0;
  friend bool operator==(const FloatFields&, const FloatFields&) = default;
};

FloatFields fields_of(hid_t type) {
  FloatFields f;
  H5Tget_fields(type, &f.sign, &f.exponent_at, &f.exponent, &f.mantissa_at, &f.mantissa);
  f.bias = H5Tget_ebias(type);
  return f;
}

// IEEE 754 binary16, binary32, binary64.
bool is_ieee(hid_t type, std::size_t size) {
  const FloatFields f = fields_of(type);
  if (H5Tget_norm(type) != H5T_NORM_IMPLIED) return false;
  if (size == 2) return f == FloatFields{15, 10, 5, 0, 10, 15};
  if (size == 4) return f == FloatFields{31, 23, 8, 0, 23, 127};
  return size == 8 && f == FloatFields{63, 52, 11, 0, 52, 1023};
}

bool usual_size(std::size_t n) {
  return n == 1 || n == 2 || n == 4 || n == 8;
}

bool is_bool(hid_t type) {
  if (H5Tget_class(type) != H5T_ENUM || H5Tget_size(type) != 1 || H5Tget_nmembers(type) != 2) return false;
  for (unsigned i = 0; i < 2; ++i) {
    signed char value = -1;
    if (H5Tget_member_value(type, i, &value) < 0) return false;
    char* name = H5Tget_member_name(type, i);
    const bool matches = name != nullptr && ((value == 0 && std::strcmp(name, "FALSE") == 0) ||
                                             (value == 1 && std::strcmp(name, "TRUE") == 0));
    H5free_memory(name);
    if (!matches) return false;
  }
  return true;
}

hid_t native_integer(std::size_t bits, bool is_signed) {
  if (bits <= 8) return is_signed ? H5T_NATIVE_INT8 : H5T_NATIVE_UINT8;
  if (bits <= 16) return is_signed ? H5T_NATIVE_INT16 : H5T_NATIVE_UINT16;
  if (bits <= 32) return is_signed ? H5T_NATIVE_INT32 : H5T_NATIVE_UINT32;
  return is_signed ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64;
}

Id memory_compound(hid_t type) {
  const int members = H5Tget_nmembers(type);
  std::vector<std::pair<std::string, Id>> parts;
  std::size_t size = 0;
  for (int i = 0; i < members; ++i) {
    const auto index = static_cast<unsigned>(i);
    const Id stored(H5Tget_member_type(type, index));
    Id part = memory_type(stored.get());
    char* name = H5Tget_member_name(type, index);
    if (!part.ok() || name == nullptr) return {};
    size += H5Tget_size(part.get());
    parts.emplace_back(name, std::move(part));
    H5free_memory(name);
  }
  if (size == 0) return {};
  // No smaller than it is stored: memory and bytes to read are planned by the size of a row once decoded.
  Id out(H5Tcreate(H5T_COMPOUND, std::max(size, H5Tget_size(type))));
  std::size_t offset = 0;
  for (const auto& [name, part] : parts) {
    if (H5Tinsert(out.get(), name.c_str(), offset, part.get()) < 0) return {};
    offset += H5Tget_size(part.get());
  }
  return out;
}

}  // namespace

std::string why_convert(hid_t number) {
  const std::size_t size = H5Tget_size(number), bits = H5Tget_precision(number);
  const H5T_class_t kind = H5Tget_class(number);
  if (kind == H5T_ENUM) {
    const Id base(H5Tget_super(number));
    return base.ok() ? why_convert(base.get()) : "an enum without a base type";
  }
  const H5T_order_t order = H5Tget_order(number);
  if (order != H5T_ORDER_LE && order != H5T_ORDER_BE) return "numbers in VAX byte order";
  const char* noun = kind == H5T_FLOAT ? "floats" : "integers";
  if (!usual_size(size)) return fmt::format("{}-byte {}", size, noun);
  if (bits != 8 * size || H5Tget_offset(number) != 0) return fmt::format("{}-bit {} in {} bytes", bits, noun, size);
  if (kind == H5T_FLOAT && !is_ieee(number, size)) return fmt::format("{}-bit floats that are not IEEE 754", bits);
  return {};
}

bool convertible(hid_t number) {
  const H5T_class_t kind = H5Tget_class(number);
  if (kind == H5T_FLOAT) return H5Tget_size(number) <= 16 && H5Tget_norm(number) != H5T_NORM_MSBSET;
  return H5Tget_size(number) <= 8;
}

DType::Kind number_kind(hid_t number) {
  switch (H5Tget_class(number)) {
    case H5T_FLOAT:
      return DType::Kind::kFloat;
    case H5T_BITFIELD:
      return DType::Kind::kUInt;
    case H5T_ENUM: {
      if (is_bool(number)) return DType::Kind::kBool;
      const Id base(H5Tget_super(number));
      return H5Tget_sign(base.get()) == H5T_SGN_NONE ? DType::Kind::kUInt : DType::Kind::kInt;
    }
    default:
      return H5Tget_sign(number) == H5T_SGN_NONE ? DType::Kind::kUInt : DType::Kind::kInt;
  }
}

Id complex_part(hid_t compound) {
  if (H5Tget_nmembers(compound) != 2) return {};
  const char* expected[] = {"r", "i"};
  for (unsigned i = 0; i < 2; ++i) {
    char* name = H5Tget_member_name(compound, i);
    const bool same = name != nullptr && std::strcmp(name, expected[i]) == 0;
    H5free_memory(name);
    if (!same || H5Tget_member_class(compound, i) != H5T_FLOAT) return {};
  }
  Id real(H5Tget_member_type(compound, 0));
  const Id imaginary(H5Tget_member_type(compound, 1));
  const std::size_t size = H5Tget_size(real.get());
  const bool paired = H5Tequal(real.get(), imaginary.get()) > 0 && H5Tget_member_offset(compound, 0) == 0 &&
                      H5Tget_member_offset(compound, 1) == size && H5Tget_size(compound) == 2 * size;
  return paired && (size == 4 || size == 8) ? std::move(real) : Id();
}

/// A native type in the byte order of a stored one. Where the order differs and the size does not, libhdf5 swaps bytes
/// and does nothing else: -40 of 9 bits in 2 bytes became 472. Headrace swaps by itself.
static Id in_order_of(hid_t stored, hid_t native) {
  Id type(H5Tcopy(native));
  if (H5Tget_order(stored) == H5T_ORDER_BE) H5Tset_order(type.get(), H5T_ORDER_BE);
  return type;
}

/// Text as decode() leaves it.
static Id nul_padded(hid_t text) {
  if (H5Tis_variable_str(text) > 0) return {};
  Id type(H5Tcopy(text));
  if (H5Tset_strpad(type.get(), H5T_STR_NULLPAD) < 0) return {};
  return type;
}

Id memory_type(hid_t type) {
  const std::size_t size = H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return in_order_of(type, native_integer(size * 8, H5Tget_sign(type) == H5T_SGN_2));
    case H5T_BITFIELD:
      return in_order_of(type, size == 1   ? H5T_NATIVE_B8
                               : size == 2 ? H5T_NATIVE_B16
                               : size <= 4 ? H5T_NATIVE_B32
                                           : H5T_NATIVE_B64);
    case H5T_FLOAT: {
      if (!why_convert(type).empty())  // bfloat16 fits binary32; the unusual above need binary64
        return Id(H5Tcopy(size <= 3 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE));
      Id same(H5Tcopy(type));
      H5Tset_order(same.get(), H5T_ORDER_LE);
      return same;
    }
    case H5T_ENUM: {
      const Id base(H5Tget_super(type));
      if (H5Tget_order(base.get()) == H5T_ORDER_LE && why_convert(base.get()).empty()) return Id(H5Tcopy(type));
      return memory_type(base.get());
    }
    case H5T_STRING:
      return nul_padded(type);
    case H5T_COMPOUND:
      return memory_compound(type);
    case H5T_ARRAY: {
      const Id base(H5Tget_super(type));
      const Id part = memory_type(base.get());
      hsize_t dims[H5S_MAX_RANK] = {};
      const int rank = H5Tget_array_dims2(type, dims);
      if (!part.ok() || rank < 1) return {};
      return Id(H5Tarray_create2(part.get(), static_cast<unsigned>(rank), dims));
    }
    default:
      return {};
  }
}

}  // namespace headrace::hdf5
