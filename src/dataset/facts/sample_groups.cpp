#include "dataset/facts/sample_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <numeric>
#include <span>
#include <string_view>
#include <unordered_map>

#include "dataset/dataset_contents.h"
#include "dataset/recipe/refuse.h"
#include "dataset/samples/column_runs.h"

namespace headrace {
namespace {

std::uint64_t product(std::span<const std::uint64_t> extents) {
  return std::accumulate(extents.begin(), extents.end(), std::uint64_t{1}, std::multiplies<>());
}

/// Numbers keys in the order in which they come.
class GroupNumbers {
 public:
  explicit GroupNumbers(std::uint64_t samples) { groups_.of_sample.reserve(samples); }
  void add(std::string_view key) {
    auto found = numbers_.find(key);
    if (found == numbers_.end()) {
      found = numbers_.emplace(std::string(key), static_cast<std::uint32_t>(groups_.sizes.size())).first;
      groups_.sizes.push_back(0);
    }
    ++groups_.sizes[found->second];
    groups_.of_sample.push_back(found->second);
  }
  SampleGroups take() { return std::move(groups_); }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> numbers_;
  SampleGroups groups_;
};

}  // namespace

std::optional<std::size_t> axis_of(const Dataset& data, const std::string& by) {
  std::size_t axis = 0;
  const auto [end, error] = std::from_chars(by.data(), by.data() + by.size(), axis);
  if (error != std::errc() || end != by.data() + by.size()) return std::nullopt;
  if (std::ranges::any_of(data.fields(), [&](const Field& f) { return f.name == by; })) return std::nullopt;
  return axis;
}

std::vector<std::uint64_t> places_along(const Dataset& data, std::size_t axis, std::string_view argument) {
  std::vector<std::uint64_t> starts{0};
  for (const std::vector<std::uint64_t>& shape : data.sample_shapes()) {
    if (axis >= shape.size())
      throw refuse(fmt::format("{}{}: samples lie along {}", argument, axis,
                               shape.size() == 1 ? "one axis, that of the rows" : fmt::format("{} axes", shape.size())),
                   shape.size() == 1 ? "Open the data with sample_axes=, whose first axes can be groups."
                                     : fmt::format("Axes count from 0: give one from 0 to {}.", shape.size() - 1));
    const std::span<const std::uint64_t> extents(shape);
    const std::uint64_t groups = product(extents.first(axis + 1)), rows = product(extents.subspan(axis + 1));
    for (std::uint64_t g = 0; g < groups; ++g) starts.push_back(starts.back() + rows);
  }
  return starts;
}

SampleGroups find_sample_groups(const Dataset& data, const std::string& by, const std::function<bool()>& go_on) {
  GroupNumbers numbers(data.size());
  if (const std::optional<std::size_t> axis = axis_of(data, by)) {
    const std::vector<std::uint64_t> starts = places_along(data, *axis, "by=");
    const RowSet* const chosen = impl_of(data)->blocks->chosen().get();
    std::size_t place = 0;
    for (std::uint64_t i = 0; i < data.size(); ++i) {
      const std::uint64_t stored = chosen ? (*chosen)[i] : i;
      while (starts[place + 1] <= stored) ++place;
      numbers.add({reinterpret_cast<const char*>(&place), sizeof place});
    }
    return numbers.take();
  }
  read_runs(stored_column(data, by), go_on, [&](const Tensor& run) {
    const std::uint64_t bytes = run.rows() == 0 ? 0 : run.size_bytes() / run.rows();
    for (std::uint64_t row = 0; row < run.rows(); ++row)
      numbers.add({reinterpret_cast<const char*>(run.data() + row * bytes), bytes});
  });
  return numbers.take();
}

}  // namespace headrace
