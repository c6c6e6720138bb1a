#include "format/zarr/multiscales.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text/number_text.h"
#include "catalog/samples/unit_ratio.h"

namespace headrace::zarr {
namespace {

std::optional<std::vector<double>> doubles_of(const Json& list) {
  if (!list.is_array() || list.empty()) return std::nullopt;
  std::vector<double> out;
  for (const Json& entry : list) {
    if (!entry.is_number()) return std::nullopt;
    out.push_back(entry.get<double>());
  }
  return out;
}

/// Apply a list of transformations, one after the other. \return False for one that is not read.
bool apply(const Json& transformations, Voxel& voxel) {
  if (transformations.is_null()) return true;
  if (!transformations.is_array()) return false;
  for (const Json& one : transformations) {
    const std::string type = text_of(one, "type").value_or("");
    if (type == "identity") continue;
    const auto numbers = doubles_of(member(one, type.c_str()));
    if ((type != "scale" && type != "translation") || !numbers || numbers->size() != voxel.size.size()) return false;
    for (std::size_t a = 0; a < numbers->size(); ++a) {
      if (type == "translation") {
        voxel.origin[a] += (*numbers)[a];
        continue;
      }
      if (!((*numbers)[a] > 0) || !std::isfinite((*numbers)[a])) return false;
      voxel.size[a] *= (*numbers)[a];
      voxel.origin[a] *= (*numbers)[a];
    }
  }
  return true;
}

/// Return the names of axes: texts in version 0.3, objects since. None where one of them has no name.
std::vector<NamedAxis> axes_of(const Json& axes) {
  std::vector<NamedAxis> named;
  if (!axes.is_array()) return named;
  for (const Json& axis : axes) {
    const auto name = axis.is_string() ? std::optional(axis.get<std::string>()) : text_of(axis, "name");
    if (!name || name->empty()) return {};
    named.push_back({*name, text_of(axis, "type").value_or("")});
  }
  return named;
}

/// Return the unit of the last axis of space that has one.
std::string unit_of_space(const Json& axes) {
  std::string unit;
  for (const Json& axis : axes)
    if (text_of(axis, "type") == "space")
      if (const auto own = text_of(axis, "unit")) unit = *own;
  return unit;
}

/// Let a voxel have the units of the axes, and lengths that of space, so that its sizes can be compared.
void set_units(const Json& axes, Voxel& voxel) {
  const std::string space = axes.is_array() ? unit_of_space(axes) : "";
  if (!axes.is_array() || axes.size() != voxel.size.size()) {
    voxel.units.assign(voxel.size.size(), space);
    return;
  }
  for (std::size_t a = 0; a < axes.size(); ++a) {
    std::string& unit = voxel.units.emplace_back(text_of(axes[a], "unit").value_or(""));
    const auto ratio = unit_ratio(unit, space);
    if (!ratio) continue;
    voxel.size[a] *= *ratio;
    voxel.origin[a] *= *ratio;
    unit = space;
  }
}

/// Return where the voxels of a level lie; nullopt where that is not said, or in a way that is not read.
std::optional<Voxel> voxel_of(const Json& own, const Json& of_image, const Json& axes) {
  if (!own.is_array()) return std::nullopt;
  std::size_t rank = 0;
  for (const Json& one : own) rank = std::max(rank, member(one, text_of(one, "type").value_or("").c_str()).size());
  Voxel voxel{std::vector<double>(rank, 1), std::vector<double>(rank, 0), {}};
  if (rank == 0 || !apply(own, voxel) || !apply(of_image, voxel)) return std::nullopt;
  set_units(axes, voxel);
  const bool finite = std::ranges::all_of(voxel.size, [](double size) { return size > 0 && std::isfinite(size); }) &&
                      std::ranges::all_of(voxel.origin, [](double origin) { return std::isfinite(origin); });
  return finite ? std::optional(std::move(voxel)) : std::nullopt;
}

}  // namespace

std::vector<ImageLevel> levels_of(const Json& attributes, const std::string& group) {
  const Json& ome = member(attributes, "ome");
  const Json& images = member(ome.is_object() ? ome : attributes, "multiscales");
  std::vector<ImageLevel> levels;
  if (!images.is_array() || images.empty()) return levels;
  const Json& image = images[0];  // others are the same picture in other words
  const Json& axes = member(image, "axes");
  for (const Json& dataset : member(image, "datasets")) {
    const auto path = text_of(dataset, "path");
    if (!path) continue;
    auto voxel =
        voxel_of(member(dataset, "coordinateTransformations"), member(image, "coordinateTransformations"), axes);
    ImageLevel level{group.empty() ? *path : group + "/" + *path, axes_of(axes), std::move(voxel)};
    if (level.voxel || !level.axes.empty()) levels.push_back(std::move(level));
  }
  return levels;
}

std::optional<SizedName> split_sized_name(const std::string& name) {
  const std::size_t at = name.rfind('@');
  if (at == std::string::npos || at == 0) return std::nullopt;
  SizedName made{name.substr(0, at), {}};
  for (std::string_view text = std::string_view(name).substr(at + 1);; text.remove_prefix(1)) {
    const std::optional<double> size = take_number(text);
    if (!size || !(*size > 0) || !std::isfinite(*size)) return std::nullopt;
    made.size.push_back(*size);
    if (text.empty()) return made;
    if (text[0] != 'x') return std::nullopt;
  }
}

bool has_size(const Voxel& voxel, const std::vector<double>& size) {
  if (size.size() != 1 && size.size() != voxel.size.size()) return false;
  for (std::size_t a = 0; a < voxel.size.size(); ++a) {
    const double asked = size.size() == 1 ? size[0] : size[a];
    if (std::abs(voxel.size[a] - asked) > asked / 100) return false;
  }
  return true;
}

}  // namespace headrace::zarr
