#include "dataset/opening/sample_axes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "format/flattened_array.h"
#include "format/repeated_array.h"

namespace headrace {
namespace {

using Shape = std::vector<std::uint64_t>;

std::string text(std::span<const std::uint64_t> shape) {
  return fmt::format("({})", fmt::join(shape, ", "));
}

Error refusal(const std::string& file, const std::string& field, std::string why, std::string hint) {
  return Error(ErrorCode::kInvalidArgument, std::move(why))
      .with_file(file)
      .with_field(field)
      .with_hint(std::move(hint));
}

/// Return how many of the first extents two shapes share, at most `most`.
std::size_t shared_axes(const Shape& a, const Shape& b, std::size_t most) {
  std::size_t n = 0;
  while (n < most && n < a.size() && n < b.size() && a[n] == b[n]) ++n;
  return n;
}

/// Return the shape of an array of the plan in the first file of its list.
Result<Shape> first_shape(FileLists& lists, const FieldPlan::Array& array) {
  HEADRACE_ASSIGN(const std::shared_ptr<const FormatReader> reader, lists.open(array.list, 0));
  const auto found = std::ranges::find(reader->arrays(), array.path, &ArrayInfo::path);
  if (found == reader->arrays().end())
    return Error(ErrorCode::kInternal, fmt::format("'{}' is planned but not listed", array.path));
  return found->shape;
}

/// Return the first array whose axes are the samples'; the number of arrays if there is none.
std::size_t leading_array(const FieldPlan& plan) {
  const auto leads = [](const FieldPlan::Array& a) { return a.list == 0 && !a.broadcast; };
  return static_cast<std::size_t>(std::ranges::find_if(plan.arrays, leads) - plan.arrays.begin());
}

/// Return the number of axes that the values of a broadcast array are for.
Result<std::uint32_t> axes_of_values(const std::string& file, const std::string& path, const Shape& shape,
                                     const Shape& samples, const BroadcastChoice& choice) {
  const std::size_t shared = shared_axes(shape, samples, samples.size());
  if (choice.axes > samples.size())
    return refusal(file, path, fmt::format("broadcast over {} axes; samples have {}", choice.axes, samples.size()),
                   fmt::format("Give at most sample_axes={}.", samples.size()));
  if (shared < std::max<std::uint32_t>(choice.axes, 1))
    return refusal(file, path,
                   fmt::format("its shape {} does not begin as the samples' axes {} do", text(shape), text(samples)),
                   "broadcast= is for arrays with one value for each entry of the first axis, or of the first axes.");
  return static_cast<std::uint32_t>(choice.axes == 0 ? shared : choice.axes);
}

}  // namespace

Status plan_axes(FileLists& lists, const OpenOptions& options, FieldPlan& plan) {
  const std::string& file = lists.paths(0)[0];
  if (options.sample_axes == 0)
    return Error(ErrorCode::kInvalidArgument, "sample_axes is 0").with_hint("1 takes rows as they are.");
  if (options.sample_axes == 1 && options.broadcast.empty()) return {};
  const std::size_t leading = leading_array(plan);
  if (leading == plan.arrays.size())
    return Error(ErrorCode::kInvalidArgument, "every field is in broadcast=, so no field has a value for each sample")
        .with_file(file)
        .with_hint("Choose at least one array of the data set's own files with fields=.");
  HEADRACE_ASSIGN(const Shape first, first_shape(lists, plan.arrays[leading]));
  const std::size_t most = std::min<std::size_t>(options.sample_axes, first.size());
  const Shape samples(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(most));
  for (std::size_t c = 0; c < plan.columns.size(); ++c) {
    FieldPlan::Array& array = plan.arrays[plan.places[c].array];
    HEADRACE_ASSIGN(const Shape shape, first_shape(lists, array));
    const std::string& here = lists.paths(array.list)[0];
    if (array.broadcast) {
      const std::string& name = plan.columns[c].name;
      const auto choice = std::ranges::find_if(options.broadcast, [&](const BroadcastChoice& b) {
        return b.name == name || name.starts_with(b.name + ".");
      });
      HEADRACE_ASSIGN(array.axes, axes_of_values(here, array.path, shape, samples, *choice));
    } else if (shape.size() < options.sample_axes) {
      return refusal(here, array.path,
                     fmt::format("sample_axes={} of an array of shape {}", options.sample_axes, text(shape)),
                     plan.places[c].array == leading
                         ? fmt::format("It has {} axes: sample_axes is at most so many.", shape.size())
                         : fmt::format("Leave it out of fields=. If it has one value for many samples: "
                                       "broadcast={{\"{}\": \"{}\"}}.",
                                       plan.columns[c].name, array.path));
    } else {
      array.axes = options.sample_axes;
    }
    Shape& row = plan.columns[c].shape;
    row.erase(row.begin(), row.begin() + (array.axes - 1));
  }
  return {};
}

Status merge_axes(SourceFile& file, const FieldPlan& plan) {
  const std::size_t leading = leading_array(plan);
  const bool any = std::ranges::any_of(plan.arrays, [](const auto& a) { return a.axes > 1 || a.broadcast; });
  if (!any || leading == plan.arrays.size()) return {};
  const std::size_t num_axes = plan.arrays[leading].axes;
  const Shape first = file.arrays[leading]->info().shape;
  if (first.size() < num_axes)
    return refusal(file.path, plan.arrays[leading].path, fmt::format("its shape is {} here", text(first)),
                   fmt::format("It needs {} axes of samples, as in the first file.", num_axes));
  const Shape axes(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(num_axes));
  for (std::size_t a = 0; a < file.arrays.size(); ++a) {
    const FieldPlan::Array& array = plan.arrays[a];
    const auto beside = std::ranges::find_if(file.companion_files, [&](const CompanionFile& b) {
      return std::ranges::count(b.arrays, static_cast<std::uint32_t>(a));
    });
    const Shape shape = file.arrays[a]->info().shape;
    if (shared_axes(shape, axes, array.axes) < array.axes)
      return refusal(
          beside == file.companion_files.end() ? file.path : beside->path, array.path,
          fmt::format("its shape {} does not begin with the samples' axes {}, which {} of {} has", text(shape),
                      text(std::span(axes).first(array.axes)), plan.arrays[leading].path, file.path),
          "The fields of a file must agree in the axes of the samples.");
    std::uint64_t repeats = 1;
    for (std::size_t d = array.axes; d < axes.size(); ++d) repeats *= axes[d];
    HEADRACE_ASSIGN(file.arrays[a], flatten(std::move(file.arrays[a]), array.axes));
    file.arrays[a] = repeat(std::move(file.arrays[a]), repeats);
  }
  if (num_axes > 1) file.axes = axes;
  return {};
}

std::vector<std::uint32_t> broadcast_axes(const FieldPlan& plan) {
  std::vector<std::uint32_t> axes;
  for (const Source::ColumnPlace place : plan.places) {
    const FieldPlan::Array& array = plan.arrays[place.array];
    axes.push_back(array.broadcast ? array.axes : 0);
  }
  return axes;
}

}  // namespace headrace
