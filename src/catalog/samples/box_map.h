// BoxMap: a sample is a box of one shape at some place of a volume; several arrays, chunked differently, give a box
// each.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "catalog/row_set.h"
#include "catalog/samples/box_starts.h"
#include "catalog/samples/cell_grid.h"
#include "catalog/samples/sample_map.h"
#include "catalog/samples/voxel_scale.h"

namespace headrace {

/// Group g is array g of every volume. An array of fewer axes has the leading ones only: what it holds is the same for
/// all boxes that differ along the others (a label for each file, a row for each volume).
///
/// Part::place is the number of the box that a part belongs to.
///
/// An array may have other voxels than its volume: its box lies about the same centre, to the nearest of its own
/// voxels.
class BoxMap final : public SampleMap {
 public:
  struct Volume {
    std::uint32_t file = 0;
    std::vector<CellGrid> grids;     ///< One for each array.
    std::vector<Axes> offsets = {};  ///< Where the volume begins in each array; empty: at its beginning.
    std::vector<std::optional<VoxelScale>> scales = {};  ///< One for each array; empty: all have the volume's voxels.
  };
  struct Options {
    std::vector<Volume> volumes;
    Axes box{};  ///< Elements of a sample along each axis.
    std::shared_ptr<const BoxStarts> starts;
    std::uint64_t block_samples = 1;            ///< Consecutive samples that are shuffled together.
    std::shared_ptr<const RowSet> chosen = {};  ///< Samples that were selected; null: all.
    std::vector<Axes> boxes = {};               ///< Elements of a sample in each array; empty: `box` in all.
  };
  explicit BoxMap(Options options);

  [[nodiscard]] const std::shared_ptr<const BlockTable>& shuffle_blocks() const override { return blocks_; }
  [[nodiscard]] std::span<const UnitGroup> groups() const override { return groups_; }
  void expand(std::span<const SampleRef> samples, EpochSeed draws, std::vector<Part>& parts,
              std::vector<std::uint32_t>& ends) const override;
  void lengths(std::span<const SampleRef>, std::size_t, std::vector<std::uint64_t>&) const override {}
  void units_of(std::uint32_t block, EpochSeed draws, std::vector<std::uint32_t>& out) const override;
  void blocks_of(std::uint32_t unit, std::vector<std::uint32_t>& out) const override;
  [[nodiscard]] BlockUnits block_units() const override {
    return !drawn_ ? BlockUnits::kSettled : visits() ? BlockUnits::kByEpoch : BlockUnits::kUnknown;
  }
  [[nodiscard]] std::uint64_t part_hash(SampleRef sample, const Part& part, std::uint64_t place) const override;
  [[nodiscard]] std::uint64_t usual_parts() const override;
  [[nodiscard]] std::uint64_t memory_bytes() const override;

  /// Return the number of a sample among all, chosen or not.
  [[nodiscard]] std::uint64_t number_of(SampleRef sample) const {
    return blocks_->stored_rows(sample.block).first +
           (options_.chosen ? blocks_->stored_row(sample.block, sample.row) : sample.row);
  }
  /// Return the box of a part, and the box that a sample has in an epoch.
  [[nodiscard]] BoxPlace place_of(const Part& part) const { return options_.starts->place_of(part.place); }
  [[nodiscard]] BoxPlace place_of(SampleRef sample, EpochSeed draws) const {
    return options_.starts->place_of(options_.starts->box_of(number_of(sample), draws));
  }
  /// Return where a box begins in the array of a group.
  [[nodiscard]] Places start_in(std::size_t group, const BoxPlace& place) const;
  /// Return the number of the last sample whose box has elements of this one's. Not of drawn ones.
  [[nodiscard]] std::uint64_t last_meeting(SampleRef sample) const;
  /// Return the cells of a group that a box has parts in, on average over all places.
  [[nodiscard]] double mean_parts(std::size_t group) const { return mean_parts_[group]; }
  /// Return how boxes are drawn, where that is a visit at a time: each is a shuffle block. Null: they are not.
  [[nodiscard]] const VisitStarts* visits() const { return options_.starts->visits(); }
  /// Return the decoded bytes of a group's array for each delivered one, where each visit decodes the chunks of its
  /// boxes once: of the first volume, whose chunks the others tend to have.
  [[nodiscard]] double visit_amplification_of(std::size_t group) const;
  /// Return true if each epoch draws other boxes.
  [[nodiscard]] bool drawn() const { return drawn_; }
  [[nodiscard]] const std::vector<Volume>& volumes() const { return options_.volumes; }
  [[nodiscard]] const Axes& box() const { return options_.box; }
  /// Return the elements of a sample along each axis of a group's array.
  [[nodiscard]] const Axes& box(std::size_t group) const {
    return options_.boxes.empty() ? options_.box : options_.boxes[group];
  }
  /// Return the elements of a sample's box in the array of a group.
  [[nodiscard]] std::uint64_t box_elements(std::size_t group) const { return box_elements_[group]; }
  /// Return the axes of a group's array.
  [[nodiscard]] std::size_t rank(std::size_t group) const { return options_.volumes[0].grids[group].rank; }

  /// A unit's volume, and the number of its cell there.
  struct Cell {
    std::uint32_t volume;
    std::uint64_t number;
  };
  /// \param unit  Counted in its group.
  [[nodiscard]] Cell cell_of(std::size_t group, std::uint64_t unit) const;

 private:
  void units_of_box(const BoxPlace& place, std::vector<std::uint32_t>& units) const;
  [[nodiscard]] const VoxelScale* scale_of(std::size_t group, std::size_t volume) const;
  void meeting_of(std::size_t group, const Cell& cell, std::vector<std::uint64_t>& samples) const;

  const Options options_;
  const bool drawn_;
  std::shared_ptr<const BlockTable> blocks_;
  std::vector<UnitGroup> groups_;
  std::vector<std::uint64_t> box_elements_;
  std::vector<std::vector<std::uint64_t>> first_cells_;  // units of each group before each volume, and all of them
  std::vector<std::uint64_t> first_samples_{0};          // of each volume, and how many there are; drawn: nothing
  std::vector<double> mean_parts_;                       // of each group, where it has most
};

}  // namespace headrace
