#include "dataset/volumes/volume_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "catalog/samples/unit_ratio.h"

namespace headrace {
namespace {

bool same_name(const NamedAxis& one, const NamedAxis& other) {
  const auto lower = [](unsigned char c) { return std::tolower(c); };
  return std::ranges::equal(one.name, other.name, {}, lower, lower);
}

bool has_name(std::span<const NamedAxis> axes, const NamedAxis& wanted) {
  return std::ranges::any_of(axes, [&](const NamedAxis& axis) { return same_name(axis, wanted); });
}

/// Return the file that an array of a volume lies in.
const std::string& file_of(const SourceFile& file, std::size_t array) {
  for (const CompanionFile& beside : file.companion_files)
    if (std::ranges::find(beside.arrays, static_cast<std::uint32_t>(array)) != beside.arrays.end()) return beside.path;
  return file.path;
}

std::string array_text(const SourceFile& file, std::size_t array) {
  const ArrayInfo& info = file.arrays[array]->info();
  return fmt::format("\n  {} › {}: axes {}", file_of(file, array), info.path, names_text(info.named_axes));
}

}  // namespace

bool axes_agree(std::span<const NamedAxis> one, std::span<const NamedAxis> other) {
  if (one.size() != other.size()) return true;  // no names, or arrays that do not lie over each other anyway
  for (std::size_t a = 0; a < one.size(); ++a) {
    if (same_name(one[a], other[a])) continue;
    if (has_name(other, one[a]) || has_name(one, other[a])) return false;
    if (!one[a].kind.empty() && !other[a].kind.empty() && one[a].kind != other[a].kind) return false;
  }
  return true;
}

Status check_axes(const SourceFile& file, const SourceFile& first) {
  for (std::size_t i = 0; i < file.arrays.size(); ++i) {
    const ArrayInfo& info = file.arrays[i]->info();
    const auto refused = [&](std::string what, const std::string& other, const std::string& hint) {
      return Error(ErrorCode::kInvalidArgument, std::move(what) + other + array_text(file, i))
          .with_file(file_of(file, i))
          .with_field(info.path)
          .with_hint("\n" + hint);
    };
    for (std::size_t k = 0; k < i; ++k)
      if (!axes_agree(file.arrays[k]->info().named_axes, info.named_axes))
        return refused("the axes of this array are not those of another one of the volume, over which it lies:",
                       array_text(file, k),
                       "Arrays are not turned: write one of them anew with its axes in the order of the other one "
                       "(numpy.transpose), and 'axes' and 'coordinateTransformations' of its image in that order too.");
    if (!axes_agree(first.arrays[i]->info().named_axes, info.named_axes))
      return refused("the axes of this array are not those that it has in the first volume:", array_text(first, i),
                     "Volumes that are opened together must agree; open those that differ apart.");
  }
  return {};
}

std::optional<Voxel> in_units_of(const ArrayInfo& array, const Voxel& other) {
  Voxel voxel = *array.voxel;
  if (voxel.size.size() != other.size.size()) return std::nullopt;
  for (std::size_t a = 0; a < voxel.size.size(); ++a) {
    const bool space =
        a >= array.named_axes.size() || array.named_axes[a].kind.empty() || array.named_axes[a].kind == "space";
    auto ratio = unit_ratio(voxel.units[a], other.units[a]);
    if (!ratio && !space && (voxel.units[a].empty() || other.units[a].empty())) ratio = 1;
    if (!ratio) return std::nullopt;
    voxel.size[a] *= *ratio;
    voxel.origin[a] *= *ratio;
  }
  voxel.units = other.units;
  return voxel;
}

std::string units_text(const ArrayInfo& one, const ArrayInfo& other) {
  const auto text = [](const ArrayInfo& info) {
    const std::vector<std::string>& all = info.voxel->units;
    std::string units = info.voxel->unit();
    if (std::ranges::all_of(all, &std::string::empty)) return info.path + " without a unit";
    if (units.empty())
      for (const std::string& unit : all)
        units += (units.empty() ? "" : ", ") + (unit.empty() ? std::string("none") : unit);
    return info.path + " in " + units;
  };
  return text(one) + " and " + text(other);
}

}  // namespace headrace
