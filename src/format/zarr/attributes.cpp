#include "format/zarr/attributes.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace headrace::zarr {
namespace {

std::optional<AttributeValue> scalar(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return number;
    return static_cast<std::int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  return std::nullopt;
}

std::optional<AttributeValue> list(const Json& value) {
  if (value.size() == 1) return scalar(value[0]);
  if (std::ranges::all_of(value, [](const Json& v) { return v.is_string(); }))
    return value.get<std::vector<std::string>>();
  const auto whole = [](const Json& v) {
    return v.is_number_integer() &&
           !(v.is_number_unsigned() && v.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max());
  };
  if (std::ranges::all_of(value, whole)) return value.get<std::vector<std::int64_t>>();
  if (std::ranges::all_of(value, [](const Json& v) { return v.is_number(); })) return value.get<std::vector<double>>();
  return std::nullopt;
}

}  // namespace

Attributes attributes_of(const Json& object) {
  Attributes out;
  if (!object.is_object()) return out;
  for (const auto& [name, value] : object.items()) {
    if (value.is_null()) continue;
    auto read = value.is_array() ? list(value) : scalar(value);
    if (read)
      out.values.emplace(name, std::move(*read));
    else
      out.left_out.emplace(name, value.is_object() ? "an object" : "a list of several kinds");
  }
  return out;
}

}  // namespace headrace::zarr
