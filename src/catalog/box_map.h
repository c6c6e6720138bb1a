// BoxMap: a sample is a box of one shape at some place of a volume; several arrays, chunked differently, give a box
// each.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "catalog/sample_map.h"

namespace headrace {

inline constexpr std::size_t kMostAxes = 5;
using Axes = std::array<std::uint64_t, kMostAxes>;  ///< Entries behind the rank are 1 for shapes, 0 for places.

/// An array cut into cells of one shape, C order; cells at its end reach past it.
struct CellGrid {
  std::size_t rank = 3;
  Axes shape{};  ///< Elements.
  Axes cell{};   ///< Elements of a cell.
  std::uint64_t element_bytes = 1;

  [[nodiscard]] std::uint64_t cells_along(std::size_t axis) const {
    return (shape[axis] + cell[axis] - 1) / cell[axis];
  }
  [[nodiscard]] std::uint64_t num_cells() const;
  /// Return the elements of a cell.
  [[nodiscard]] std::uint64_t cell_elements() const;
  /// Return the first element of a cell along each axis. Cells are numbered in C order.
  [[nodiscard]] Axes cell_start(std::uint64_t cell_number) const;
};

/// What lies in both a sample's box and a cell.
struct BoxOverlap {
  Axes count{};                   ///< Elements along each axis.
  std::uint64_t cell_offset = 0;  ///< First element, counted in the cell.
  std::uint64_t box_offset = 0;   ///< And in the box.
};
BoxOverlap overlap_of(const CellGrid& grid, std::uint64_t cell_number, const Axes& box_start, const Axes& box_shape);

/// Return the hash of an overlap of cell `cell_number` that is copied to where it belongs in the box at `place`. It is
/// made of the first and the last run of elements, which a wrong stride moves apart.
std::uint64_t box_hash(std::uint64_t cell_number, std::uint64_t first_from, std::uint64_t last_from,
                       std::uint64_t first_to, std::uint64_t last_to, std::uint64_t run_elements);

/// Group g is array g. Boxes lie inside every array. An array of fewer axes has the leading ones only: what it holds is
/// the same for all boxes that differ along the others (a label for each file, a row for each volume).
class BoxMap final : public SampleMap {
 public:
  struct Options {
    std::vector<CellGrid> grids;
    Axes box{};                      ///< Elements of a sample along each axis.
    std::vector<Axes> starts;        ///< First element of each sample.
    std::uint64_t home_samples = 1;  ///< Consecutive samples that are shuffled together.
  };
  explicit BoxMap(Options options);

  [[nodiscard]] const std::shared_ptr<const BlockTable>& shuffle_blocks() const override { return homes_; }
  [[nodiscard]] std::span<const UnitGroup> groups() const override { return groups_; }
  void expand(std::span<const SampleRef> samples, std::vector<Part>& parts,
              std::vector<std::uint32_t>& ends) const override;
  void lengths(std::span<const SampleRef>, std::size_t, std::vector<std::uint64_t>&) const override {}
  void units_of(std::uint32_t home, std::vector<std::uint32_t>& out) const override;
  void homes_of(std::uint32_t unit, std::vector<std::uint32_t>& out) const override;
  [[nodiscard]] std::uint64_t part_hash(SampleRef sample, const Part& part, std::uint64_t place) const override;
  [[nodiscard]] std::uint64_t usual_parts() const override { return 27; }  // a box that is about as large as a cell
  [[nodiscard]] std::uint64_t memory_bytes() const override { return options_.starts.capacity() * sizeof(Axes); }

  [[nodiscard]] const CellGrid& grid(std::size_t group) const { return options_.grids[group]; }
  [[nodiscard]] const Axes& box() const { return options_.box; }
  [[nodiscard]] const Axes& start_of(SampleRef sample) const {
    return options_.starts[std::uint64_t{sample.block} * options_.home_samples + sample.row];
  }
  /// Return the elements of a sample's box in the array of a group.
  [[nodiscard]] std::uint64_t box_elements(std::size_t group) const { return box_elements_[group]; }

 private:
  const Options options_;
  std::shared_ptr<const BlockTable> homes_;
  std::vector<UnitGroup> groups_;
  std::vector<std::uint64_t> box_elements_;
  std::vector<std::vector<std::uint32_t>> homes_of_;  // by unit, ascending
};

}  // namespace headrace
