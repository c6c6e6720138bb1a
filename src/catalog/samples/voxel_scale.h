// VoxelScale: how an array of other voxels lies over a volume.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "catalog/samples/cell_grid.h"

namespace headrace {

/// An array's voxels along each axis, counted in voxels of its volume: their size, and where the first one begins.
struct VoxelScale {
  std::array<double, kMostVolumeAxes> size{}, begin{};

  /// Return where `box` elements of the array begin so that their centre is nearest to that of `volume_box` voxels from
  /// `volume_start` on. Moved by less than a box where no element would lie in the array, which has `extent`.
  [[nodiscard]] std::int64_t start_of(std::size_t axis, std::uint64_t volume_start, std::uint64_t volume_box,
                                      std::uint64_t box, std::uint64_t extent) const {
    const double centre = static_cast<double>(volume_start) + static_cast<double>(volume_box) / 2;
    const double start = std::floor((centre - begin[axis]) / size[axis] - static_cast<double>(box) / 2 + 0.5);
    const double least = 1 - static_cast<double>(box), most = static_cast<double>(extent) - 1;
    return static_cast<std::int64_t>(std::fmin(std::fmax(start, least), most));
  }
};

}  // namespace headrace
