// Whether the axes of arrays that lie over each other are the same ones, and their units can be compared.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "assembly/source.h"
#include "base/result.h"
#include "catalog/array_info.h"

namespace headrace {

/// Return false if an axis of one array would lie over another axis of the other: one whose name stands elsewhere, or
/// is of another kind. Letters may be upper or lower case. Axes without names lie over any.
bool axes_agree(std::span<const NamedAxis> one, std::span<const NamedAxis> other);

/// Refuse arrays of a volume whose axes are others than those of its first, or than those that the same array has in
/// `first`, the first volume. Errors: kInvalidArgument.
Status check_axes(const SourceFile& file, const SourceFile& first);

/// Return where an array's voxels lie in the units of another one's; nullopt where units differ that cannot be
/// compared. An axis that is not of space and has no unit has that of the other.
std::optional<Voxel> in_units_of(const ArrayInfo& array, const Voxel& other);

/// Return "em/s0 in nanometer and labels/s0 in pixel", of two arrays.
std::string units_text(const ArrayInfo& one, const ArrayInfo& other);

}  // namespace headrace
