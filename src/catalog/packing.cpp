#include "catalog/packing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <type_traits>

namespace headrace {
namespace {

/// Return the numbers of an attribute; nothing if it has none.
std::vector<double> numbers_of(const Attributes& attributes, const char* name) {
  const auto found = attributes.values.find(name);
  if (found == attributes.values.end()) return {};
  return std::visit(
      []<class T>(const T& v) -> std::vector<double> {
        if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::vector<std::string>>)
          return {};
        else if constexpr (std::is_arithmetic_v<T>)
          return {static_cast<double>(v)};
        else
          return std::vector<double>(v.begin(), v.end());
      },
      found->second);
}

}  // namespace

std::optional<Packing> packing_of(const Attributes& attributes) {
  const std::vector<double> scale = numbers_of(attributes, "scale_factor"),
                            shift = numbers_of(attributes, "add_offset");
  if (scale.size() != 1 && shift.size() != 1) return {};
  Packing packing;
  if (scale.size() == 1) packing.scale = scale[0];
  if (shift.size() == 1) packing.shift = shift[0];
  for (const char* const name : {"_FillValue", "missing_value"})
    for (const double value : numbers_of(attributes, name))
      if (std::ranges::find(packing.missing, value) == packing.missing.end()) packing.missing.push_back(value);
  return packing;
}

std::string unpacking_text(std::string_view field, const Packing& packing) {
  std::string text = fmt::format("T.Affine('{}', scale={}, shift={}", field, packing.scale, packing.shift);
  if (packing.missing.size() == 1) text += fmt::format(", missing={}", packing.missing[0]);
  if (packing.missing.size() > 1) text += fmt::format(", missing=[{}]", fmt::join(packing.missing, ", "));
  return text + ")";
}

}  // namespace headrace
