#include "transform/kinds/turned_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace headrace {
namespace {

constexpr std::size_t kDefaultAxes = 3, kLeastAxesOfAll = 2;
constexpr std::int64_t kMostNumpyAxes = 64;

std::size_t rank_of(const Field& field) {
  return field.dims.row_shape().size();
}

/// How many axes a field needs for these to be among them.
std::size_t rank_for(std::span<const std::int64_t> axes) {
  std::int64_t rank = 0;
  for (const std::int64_t axis : axes) rank = std::max(rank, axis < 0 ? -axis : axis + 1);
  return static_cast<std::size_t>(rank);
}

std::vector<std::int64_t> last_axes(std::size_t count) {
  std::vector<std::int64_t> axes;
  for (std::size_t a = count; a > 0; --a) axes.push_back(-static_cast<std::int64_t>(a));
  return axes;
}

std::uint64_t extent_of(const Field& field, std::int64_t axis) {
  const std::vector<std::uint64_t> shape = field.dims.row_shape();
  return shape[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(shape.size()) : axis)];
}

/// The axes that are turned where none is named, of fields of so many axes or more.
std::vector<std::int64_t> default_axes(const Transform& transform, const TurnSettings& settings, std::size_t rank,
                                       const Field& first) {
  if (transform.name == "Rotate90") return last_axes(settings.cube ? 3 : 2);
  std::vector<std::int64_t> all = last_axes(std::min(rank, kDefaultAxes));
  if (transform.name != "ShuffleAxes") return all;
  std::vector<std::int64_t> alike;  // those that may change places
  for (const std::int64_t axis : all)
    if (std::ranges::count_if(all, [&](std::int64_t b) { return extent_of(first, b) == extent_of(first, axis); }) > 1)
      alike.push_back(axis);
  return alike.empty() ? all : alike;
}

Transform with_axes(const Transform& transform, const Field& field, std::span<const std::int64_t> axes) {
  Transform one{transform.name, {field.name}, transform.settings};
  one.settings.insert_or_assign("axes", std::vector<double>(axes.begin(), axes.end()));
  return one;
}

/// Those of all fields that lie over each other.
Result<std::vector<Field>> fields_alike(const Transform& transform, const TurnSettings& settings,
                                        std::span<const Field> fields) {
  const std::size_t least = std::max(kLeastAxesOfAll, settings.cube ? kDefaultAxes : rank_for(settings.axes));
  const auto first = std::ranges::find_if(fields, [&](const Field& field) { return rank_of(field) >= least; });
  if (first == fields.end())
    return transform_error(transform, fmt::format("no field has {} axes or more", least), "Name the fields.");
  std::vector<std::int64_t> axes = settings.axes;
  if (axes.empty()) axes = default_axes(transform, settings, rank_of(*first), *first);
  std::vector<Field> alike;
  for (const Field& field : fields) {
    if (rank_of(field) < std::max(least, rank_for(axes))) continue;
    if (std::ranges::any_of(axes, [&](std::int64_t axis) { return extent_of(field, axis) != extent_of(*first, axis); }))
      return transform_error(with_axes(transform, field, axes),
                             fmt::format("'{}' has the sample shape {}, and '{}' {}, so that they do not lie over each "
                                         "other",
                                         field.name, field.dims.text(), first->name, first->dims.text()),
                             "Name the fields that are to be turned.");
    alike.push_back(field);
  }
  return alike;
}

}  // namespace

bool turns_fields(std::string_view name) {
  return name == "Mirror" || name == "Rotate90" || name == "ShuffleAxes";
}

Result<TurnSettings> turn_settings(const Transform& transform, Settings& settings) {
  TurnSettings made;
  made.axes = settings.wholes("axes", std::vector<std::int64_t>{}, -kMostNumpyAxes, kMostNumpyAxes - 1);
  if (transform.name == "Rotate90") made.cube = settings.flag("cube", false);
  made.chance = settings.number("p", transform.name == "Mirror" ? 0.5 : 1.0);
  made.seed = static_cast<std::uint64_t>(settings.whole("seed", 0, 0));
  if (!(made.chance >= 0 && made.chance <= 1))
    settings.refuse(fmt::format("p is {}", made.chance), "It is a chance: 0 to 1.");
  HEADRACE_TRY(settings.finish());
  return made;
}

Result<std::vector<std::size_t>> turned_axes(const Transform& transform, const TurnSettings& settings,
                                             const Field& field) {
  const std::size_t rank = rank_of(field);
  if (rank == 0) return transform_error(transform, fmt::format("'{}' has no axis: a sample is one value", field.name));
  const std::vector<std::int64_t> axes =
      settings.axes.empty() ? default_axes(transform, settings, rank, field) : settings.axes;
  std::vector<std::size_t> made;
  for (const std::int64_t axis : axes) {
    const std::int64_t at = axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
    if (at < 0 || at >= static_cast<std::int64_t>(rank))
      return transform_error(transform, fmt::format("axis {}, and a sample of '{}' has {}", axis, field.name, rank),
                             "The axis of samples is not counted.");
    if (std::ranges::find(made, static_cast<std::size_t>(at)) != made.end())
      return transform_error(transform, fmt::format("axes are [{}], which names one twice", fmt::join(axes, ", ")));
    made.push_back(static_cast<std::size_t>(at));
  }
  return made;
}

Result<std::vector<Transform>> turns_by_field(const Transform& transform, std::span<const Field> fields) {
  Settings reader(transform);
  HEADRACE_ASSIGN(const TurnSettings settings, turn_settings(transform, reader));
  std::vector<Field> turned(fields.begin(), fields.end());
  if (transform.fields.empty()) {
    HEADRACE_ASSIGN(turned, fields_alike(transform, settings, fields));
  }
  std::vector<std::int64_t> axes = settings.axes;
  if (axes.empty()) {
    std::size_t rank = rank_of(turned[0]);
    for (const Field& field : turned) rank = std::min(rank, rank_of(field));
    axes = default_axes(transform, settings, rank, turned[0]);
  }
  std::vector<Transform> made;
  for (const Field& field : turned) {
    if (std::ranges::count(turned, field.name, &Field::name) > 1)
      return transform_error(with_axes(transform, field, axes), fmt::format("'{}' is named twice", field.name));
    made.push_back(with_axes(transform, field, axes));
    if (axes.empty()) made.back().settings.erase("axes");  // which says that it has none
  }
  return made;
}

}  // namespace headrace
