// VoxelTiles: the voxels of an array that patches have, tile by tile, each voxel once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "assembly/mapped_source.h"
#include "base/result.h"

namespace headrace {

/// Tiles are about as large as the array's chunks, and cover each volume. Of patches that are drawn anew in each epoch
/// every voxel counts. Threads: all members from any thread at once.
class VoxelTiles {
 public:
  /// Go through all patches once. \param group  Whose array it is.
  static Result<VoxelTiles> make(const MappedSource& patches, std::size_t group);

  [[nodiscard]] std::uint64_t num_tiles() const { return tiles_->map->shuffle_blocks()->num_rows(); }
  /// Return the bytes of a tile as it is delivered.
  [[nodiscard]] std::uint64_t tile_bytes() const { return tiles_->stored_sample_bytes; }
  /// Return the tiles as samples of one field.
  [[nodiscard]] const std::shared_ptr<const MappedSource>& samples() const { return tiles_; }
  /// Append the voxels of a tile that some patch has, as they are stored, in no special order. Blocks. Errors: of the
  /// data; kOutOfBudget.
  Status read(std::uint64_t tile, std::vector<std::byte>& values) const;

 private:
  /// Where a patch has voxels of a volume: [begin, end) along each axis.
  struct Box {
    Axes begin{}, end{};
  };
  VoxelTiles() = default;
  void list_patches(const MappedSource& patches, std::size_t group);
  [[nodiscard]] Box tile_box(const BoxPlace& place) const;

  std::shared_ptr<const MappedSource> tiles_;
  bool has_all_ = false;                             // every voxel of every tile
  std::vector<Box> boxes_;                           // of patches
  std::vector<std::vector<std::uint32_t>> meeting_;  // of each tile, the patches that have voxels of it
};

}  // namespace headrace
