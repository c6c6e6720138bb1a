#include "format/zarr/multiscales.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

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

std::string unit_of(const Json& axes) {
  std::string unit;
  if (axes.is_array())
    for (const Json& axis : axes)
      if (text_of(axis, "type") == "space") unit = text_of(axis, "unit").value_or("");
  return unit;
}

}  // namespace

std::vector<ImageLevel> levels_of(const Json& attributes, const std::string& group) {
  const Json& ome = member(attributes, "ome");
  const Json& images = member(ome.is_object() ? ome : attributes, "multiscales");
  std::vector<ImageLevel> levels;
  if (!images.is_array() || images.empty()) return levels;
  const Json& image = images[0];  // others are the same picture in other words
  for (const Json& dataset : member(image, "datasets")) {
    const auto path = text_of(dataset, "path");
    const Json& own = member(dataset, "coordinateTransformations");
    if (!path || !own.is_array()) continue;
    std::size_t rank = 0;
    for (const Json& one : own) rank = std::max(rank, member(one, text_of(one, "type").value_or("").c_str()).size());
    ImageLevel level{group.empty() ? *path : group + "/" + *path,
                     {std::vector<double>(rank, 1), std::vector<double>(rank, 0), unit_of(member(image, "axes"))}};
    if (rank > 0 && apply(own, level.voxel) && apply(member(image, "coordinateTransformations"), level.voxel))
      levels.push_back(std::move(level));
  }
  return levels;
}

std::optional<SizedName> split_sized_name(const std::string& name) {
  const std::size_t at = name.rfind('@');
  if (at == std::string::npos || at == 0) return std::nullopt;
  SizedName made{name.substr(0, at), {}};
  const char* text = name.c_str() + at + 1;
  for (;;) {
    char* end = nullptr;
    const double size = std::strtod(text, &end);
    if (end == text || !(size > 0) || !std::isfinite(size)) return std::nullopt;
    made.size.push_back(size);
    if (*end == '\0') return made;
    if (*end != 'x') return std::nullopt;
    text = end + 1;
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
