// The images of OME-NGFF: groups whose arrays are one picture at several voxel sizes. Source: OME-NGFF 0.4 and 0.5,
// "multiscales" metadata.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "catalog/array_info.h"
#include "format/zarr/json.h"

namespace headrace::zarr {

/// One array of an image.
struct ImageLevel {
  std::string path;             ///< In the store.
  std::vector<NamedAxis> axes;  ///< Empty where they have no names.
  std::optional<Voxel> voxel;   ///< None where sizes are not said, or in a way that is not read.
};

struct Image {
  std::string path;  ///< Path of its group in the store; empty: the root.
  std::vector<ImageLevel> levels;
};

/// Return the levels that a group's attributes describe: those of which they say the names of axes, or sizes in a way
/// that is read (no affine and other transformations). Paths are not looked at: a level is one if there is such an
/// array. Lengths are converted to the unit of the last axis that has one and is of space, where both units are known.
std::vector<ImageLevel> levels_of(const Json& attributes, const std::string& group);

/// A voxel size that is asked for behind the name of an array or image: "em/raw@8", "em/raw@40x4x4".
struct SizedName {
  std::string path;
  std::vector<double> size;  ///< Size along each axis; one for all of them.
};
/// Return the parts of such a name; nullopt for any other.
std::optional<SizedName> split_sized_name(const std::string& name);
/// Return whether a voxel has this size, to within a hundredth.
bool has_size(const Voxel& voxel, const std::vector<double>& size);

}  // namespace headrace::zarr
