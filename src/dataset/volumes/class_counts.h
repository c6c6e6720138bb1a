// Class counts: how many voxels of each class lie in each block of each volume.
#pragma once

#include <headrace/whole_number.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "assembly/source.h"
#include "base/memory/memory_budget.h"
#include "base/result.h"
#include "catalog/samples/balanced_visits.h"

namespace headrace {

/// A class of voxels.
struct VoxelClass {
  std::size_t column = 0;            ///< Column of the source: the labels.
  std::optional<WholeNumber> value;  ///< Voxels of this value; nullopt: those that are neither 0 nor NaN.
  std::string name;                  ///< For people: "mito", "labels = 3".
};

/// The blocks of a class by file and number, and what they take of the process's memory.
struct ClassCount : ClassBlocks {
  MemoryReservation memory;
};

/// Return the voxels of a block along each axis for patches of a shape: a quarter of it and at most 16, or more where
/// there would be millions of blocks; at most half of it, so that a patch about any place of a block meets all of it.
/// The block of a small patch may be as large as it, and the patch may miss a part. Follows the volumes' extents alone.
Axes class_block(std::span<const std::uint64_t> patch, const Source& volumes);

/// Return the blocks of each class that have voxels of it, by file and number; volumes are files. What was counted
/// before is remembered, as stats() are. \param block  Voxels of a block along each axis. \param threads  0: as many as
/// there are processors.
/// Errors: those of reading and decoding; kOutOfBudget. Blocks: reads the labels of all volumes, on several threads.
Result<std::vector<ClassCount>> count_classes(const Source& volumes, std::span<const VoxelClass> classes,
                                              const Axes& block, int threads = 0);

}  // namespace headrace
