// BalancedVisits: visits whose boxes are centred where classes lie, as many for each class.
//
// Volumes are cut into blocks of voxels, and each class has the blocks that hold voxels of it, with their number. The
// line has a part of equal length for each class. In it lie the class's voxels, cell by cell and block by block, so
// that a place is a voxel; a visit takes k voxels of the cell of that voxel, floor((o + i w) / k), i = 0 … k-1, of its
// w voxels, o uniform below w, which makes each of them as likely as any other. A box is centred at a uniform place of
// its voxel's block, or as near to that as the volume allows.
//
// So for each box by itself: every class is equally likely, and of a class every block as likely as it has voxels (to
// within the rounding of the line's numbers to those of voxels: a part in 2^20 of a voxel's probability).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "catalog/samples/visit_starts.h"

namespace headrace {

/// Where the voxels of a class lie.
struct ClassBlocks {
  struct Block {
    std::uint32_t volume = 0;  ///< As in VisitStarts::Options::shapes.
    std::uint32_t number = 0;  ///< Among the blocks of the volume, C order.
    std::uint64_t voxels = 0;  ///< At least 1.
  };
  std::string name;
  std::vector<Block> blocks;
};

class BalancedVisits final : public VisitStarts {
 public:
  /// \param block  Voxels of a block along each axis. \param classes  Each has a block at least; fewer than 2^40
  /// voxels.
  BalancedVisits(Options options, const Axes& block, std::vector<ClassBlocks> classes);
  [[nodiscard]] std::uint64_t memory_bytes() const override;
  /// Return the blocks of an axis of a volume.
  static std::uint64_t blocks_along(std::uint64_t extent, std::uint64_t block) { return (extent + block - 1) / block; }
  [[nodiscard]] std::size_t num_classes() const override { return classes_.size(); }

 protected:
  [[nodiscard]] std::uint64_t line() const override { return class_length_ * classes_.size(); }
  [[nodiscard]] BoxPlace start_of(const Draw& draw) const override;

 private:
  struct Entry {
    std::uint32_t volume, number;
  };
  /// Entries of a class, and of a cell.
  struct Class {
    std::uint32_t begin = 0, end = 0;
    std::uint64_t voxels_before = 0, voxels = 0;
  };
  [[nodiscard]] std::uint32_t entry_of(std::uint64_t voxel) const;
  [[nodiscard]] Axes block_start(const Entry& entry) const;

  const Axes block_;
  std::uint64_t class_length_ = 1;
  std::vector<Class> classes_;
  std::vector<Entry> entries_;              // class by class, cell by cell
  std::vector<std::uint64_t> ends_;         // voxels before the end of each entry, of all classes
  std::vector<std::uint32_t> cell_begins_;  // first entry of each cell; at the end, all of them
};

}  // namespace headrace
