// Class counts: how many voxels of each class lie in each block of each volume.
#pragma once

#include <headrace/catalog/whole_number.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "assembly/source.h"
#include "base/result.h"
#include "catalog/balanced_visits.h"

namespace headrace {

/// A class of voxels.
struct VoxelClass {
  std::size_t column = 0;            ///< Column of the source: the labels.
  std::optional<WholeNumber> value;  ///< Voxels of this value; nullopt: those that are neither 0 nor NaN.
  std::string name;                  ///< For people: "mito", "labels = 3".
};

/// Return the blocks of each class that have voxels of it, by file and number; volumes are files. What was counted
/// before is remembered, as stats() are. \param block  Voxels of a block along each axis. \param threads  0: as many as
/// there are processors.
/// Errors: those of reading and decoding. Blocks: reads the labels of all volumes, on several threads.
Result<std::vector<ClassBlocks>> count_classes(const Source& volumes, std::span<const VoxelClass> classes,
                                               const Axes& block, int threads = 0);

}  // namespace headrace
