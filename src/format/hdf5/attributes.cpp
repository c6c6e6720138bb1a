#include "format/hdf5/attributes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "format/hdf5/memory_type.h"

namespace headrace::hdf5 {
namespace {

constexpr std::size_t kCountLimit = 64, kNumbersLimit = 16, kTextLimit_bytes = 4096;

std::string joined(const std::vector<std::string>& parts, bool scalar) {
  if (scalar && parts.size() == 1) return parts[0];
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

std::optional<std::vector<std::string>> texts_of_strings(hid_t attribute, hid_t type, std::size_t count) {
  std::vector<std::string> parts;
  if (H5Tis_variable_str(type) > 0) return {};
  const std::size_t size = H5Tget_size(type);
  if (size == 0 || size * count > kTextLimit_bytes) return {};
  std::string bytes(size * count, '\0');
  if (H5Aread(attribute, type, bytes.data()) < 0) return {};
  for (std::size_t i = 0; i < count; ++i) {
    std::string one = bytes.substr(i * size, size);
    one.resize(std::strlen(one.c_str()));  // null-terminated or -padded; one without a null ends at its size
    parts.push_back(std::move(one));
  }
  return parts;
}

template <class T>
std::optional<std::vector<std::string>> texts_of_numbers(hid_t attribute, hid_t memory_type, std::size_t count) {
  std::array<T, kNumbersLimit> values{};
  if (H5Aread(attribute, memory_type, values.data()) < 0) return {};
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < count; ++i) parts.push_back(fmt::format("{}", values[i]));
  return parts;
}

std::optional<std::vector<std::string>> texts_of_bools(hid_t attribute, hid_t type, std::size_t count) {
  std::array<signed char, kNumbersLimit> values{};
  if (H5Aread(attribute, type, values.data()) < 0) return {};
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < count; ++i) parts.emplace_back(values[i] != 0 ? "true" : "false");
  return parts;
}

std::optional<std::string> text_of(hid_t attribute) {
  const Id type(H5Aget_type(attribute));
  const Id space(H5Aget_space(attribute));
  if (!type.ok() || !space.ok()) return {};
  const H5S_class_t shape = H5Sget_simple_extent_type(space.get());
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  if ((shape != H5S_SCALAR && shape != H5S_SIMPLE) || count < 0 || count > static_cast<hssize_t>(kNumbersLimit))
    return {};
  const auto n = static_cast<std::size_t>(count);
  std::optional<std::vector<std::string>> parts;
  switch (H5Tget_class(type.get())) {
    case H5T_STRING:
      parts = texts_of_strings(attribute, type.get(), n);
      break;
    case H5T_INTEGER:
    case H5T_ENUM: {
      const DType::Kind kind = number_kind(type.get());
      if (kind == DType::Kind::kBool) parts = texts_of_bools(attribute, type.get(), n);
      if (kind == DType::Kind::kUInt) parts = texts_of_numbers<std::uint64_t>(attribute, H5T_NATIVE_UINT64, n);
      if (kind == DType::Kind::kInt) parts = texts_of_numbers<std::int64_t>(attribute, H5T_NATIVE_INT64, n);
      break;
    }
    case H5T_FLOAT:
      parts = H5Tget_size(type.get()) <= 4 ? texts_of_numbers<float>(attribute, H5T_NATIVE_FLOAT, n)
                                           : texts_of_numbers<double>(attribute, H5T_NATIVE_DOUBLE, n);
      break;
    default:
      break;
  }
  if (!parts) return {};
  std::string text = joined(*parts, shape == H5S_SCALAR || n == 1);
  if (text.size() > kTextLimit_bytes) return {};
  return text;
}

struct Found {
  std::map<std::string, std::string> texts;
  std::size_t seen = 0;
};

herr_t visit(hid_t object, const char* name, const H5A_info_t*, void* into) {
  auto& found = *static_cast<Found*>(into);
  if (++found.seen > kCountLimit) return 1;  // enough
  static constexpr const char* kDimensionScales[] = {
      "CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS", "_Netcdf4Dimid", "_Netcdf4Coordinates"};
  for (const char* skip : kDimensionScales)
    if (std::strcmp(name, skip) == 0) return 0;
  try {  // nothing may unwind through C
    const Id attribute(H5Aopen(object, name, H5P_DEFAULT));
    if (!attribute.ok()) return 0;
    if (auto text = text_of(attribute.get())) found.texts.emplace(name, std::move(*text));
  } catch (...) {
    return -1;
  }
  return 0;
}

}  // namespace

std::map<std::string, std::string> attribute_texts(const Session&, hid_t object) {
  Found found;
  hsize_t at = 0;
  H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, &at, visit, &found);
  return std::move(found.texts);
}

}  // namespace headrace::hdf5
