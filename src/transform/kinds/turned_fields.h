// Which fields a transform turns: Mirror, Rotate90 and ShuffleAxes take several, or all that lie over each other.
#pragma once

#include <headrace/field.h>
#include <headrace/transform.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "transform/settings.h"

namespace headrace {

/// Return true for the transforms that put a sample's elements elsewhere by chance, in several fields alike.
bool turns_fields(std::string_view name);

/// The settings of such a transform.
struct TurnSettings {
  std::vector<std::int64_t> axes;  ///< As they were named; empty: by default.
  bool cube = false;               ///< All rotations of a cube, not those in a plane.
  double chance = 0;
  std::uint64_t seed = 0;
};
/// Read and check them. Errors: kInvalidArgument.
Result<TurnSettings> turn_settings(const Transform& transform, Settings& settings);

/// Return the axes of a field that is turned alone, from 0. Errors: kInvalidArgument for axes that it does not have.
Result<std::vector<std::size_t>> turned_axes(const Transform& transform, const TurnSettings& settings,
                                             const Field& field);

/// Return a transform for each field, with its axes; all of them draw alike. \param fields  Those that are named, or,
/// if none is, all there are: then those of two axes or more that have all axes of the transform. Errors:
/// kInvalidArgument for such a field whose extents along them are others than those of the first.
Result<std::vector<Transform>> turns_by_field(const Transform& transform, std::span<const Field> fields);

}  // namespace headrace
