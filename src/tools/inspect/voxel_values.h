// What `inspect` tells of the voxels of an array: how many have each value, and a picture of a slice.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/json.h"

namespace headrace {

/// The values of an array in some files together.
struct VoxelValues {
  struct Share {
    std::string value;
    std::uint64_t voxels = 0;
  };
  std::string path;
  std::uint64_t voxels = 0;
  std::vector<Share> shares;  ///< The most frequent first.
  /// Return "0: 93.1 %, 1: 6.9 % of 860,160 voxels", with the most frequent alone where there are many.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] Json json() const;
};

/// Count the values of an array. Reads all of it, on every processor. Throws what open_volumes() and a Loader throw,
/// and kUnsupported for an array of more than a million values.
VoxelValues count_values(const std::vector<std::string>& files, const std::string& array);

/// Return a PNG picture of the slice in the middle of the leading axes, from the least value in black to the largest in
/// white; of a large slice its first 2,048 voxels each way. Throws what open_volumes() and Dataset::slice() throw.
std::string slice_picture(const std::string& file, const std::string& array);

}  // namespace headrace
