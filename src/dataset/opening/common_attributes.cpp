#include "dataset/opening/common_attributes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace headrace {
namespace {

constexpr std::array<std::string_view, 5> kOfValues = {"scale_factor", "add_offset", "_FillValue", "missing_value",
                                                       "units"};

/// Two NaNs are the same value.
bool same(const AttributeValue& a, const AttributeValue& b) {
  const double *x = std::get_if<double>(&a), *y = std::get_if<double>(&b);
  return a == b || (x != nullptr && y != nullptr && std::isnan(*x) && std::isnan(*y));
}

std::string shown(const AttributeValue& value) {
  constexpr std::size_t kMostShown = 60;
  std::string text = text_of(value);
  return text.size() <= kMostShown ? text : text.substr(0, kMostShown) + "…";
}

}  // namespace

void CommonAttributes::add(const Attributes& attributes, const std::string& path) {
  if (!any_) {
    any_ = true;
    common_ = attributes;
    first_path_ = path;
    return;
  }
  for (const auto& [name, why] : attributes.left_out)
    if (common_.values.erase(name) > 0) common_.left_out.emplace(name, fmt::format("not read in {}: {}", path, why));
  for (auto at = common_.values.begin(); at != common_.values.end();) {
    const std::string name = at->first;
    const auto here = attributes.values.find(name);
    const bool agrees = here != attributes.values.end() && same(at->second, here->second);
    if (!agrees) {
      const std::string there = here == attributes.values.end() ? "nothing" : shown(here->second);
      differ(name, there, path);
    }
    at = agrees ? std::next(at) : common_.values.erase(at);
  }
  for (const auto& [name, value] : attributes.values)
    if (!common_.values.contains(name) && !common_.left_out.contains(name)) {
      common_.left_out.emplace(name, fmt::format("{} has {}, {} has nothing", path, shown(value), first_path_));
      if (warning_.empty() && std::ranges::find(kOfValues, name) != kOfValues.end())
        warning_ = fmt::format("{}: {}", name, common_.left_out[name]);
    }
}

void CommonAttributes::differ(const std::string& name, const std::string& here, const std::string& path) {
  const std::string text = fmt::format("{} has {}, {} has {}", first_path_, shown(common_.values.at(name)), path, here);
  common_.left_out.emplace(name, text);
  if (warning_.empty() && std::ranges::find(kOfValues, name) != kOfValues.end())
    warning_ = fmt::format("{}: {}", name, text);
}

}  // namespace headrace
