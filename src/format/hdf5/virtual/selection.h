// Selections of elements as HDF5 keeps them in the mappings of virtual datasets, in a form that can be asked by number.
//
// HDF5 pairs two selections element by element, each in row-major order: the rank of an element is its number in that
// order. A selection is cut into parts whose ranks follow each other; in each part the selected indices of the axes are
// independent, so an element's rank and its indices follow from one another by division. Regular hyperslabs, and what
// picks indices of one axis, are a single part.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/result.h"
#include "format/hdf5/library_lock.h"

namespace headrace::hdf5 {

/// The selected indices along one axis, ascending: `count` blocks of `block` indices, one every `stride`; or runs.
class AxisSelection {
 public:
  struct Run {
    std::uint64_t first = 0, count = 0;
    friend bool operator==(const Run&, const Run&) = default;
  };
  /// \param stride  At least `block`; of no meaning if count is 1.
  AxisSelection(std::uint64_t start, std::uint64_t stride, std::uint64_t count, std::uint64_t block);
  /// \param runs  Ascending, with gaps between them, none empty.
  explicit AxisSelection(const std::vector<Run>& runs);
  static AxisSelection all(std::uint64_t extent) { return {0, 1, 1, extent}; }

  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Return the index at a position. \param position  Less than size().
  [[nodiscard]] std::uint64_t index(std::uint64_t position) const;
  /// Return how many indices from `position` on, itself included, follow each other without a gap.
  [[nodiscard]] std::uint64_t run_from(std::uint64_t position) const;
  /// Return the position of the first selected index that is not less than `index`; size() if there is none.
  [[nodiscard]] std::uint64_t position_of(std::uint64_t index) const;
  /// Return one past the last selected index; 0 if none is.
  [[nodiscard]] std::uint64_t end_index() const { return size_ == 0 ? 0 : index(size_ - 1) + 1; }
  [[nodiscard]] bool covers(std::uint64_t extent) const {
    return size_ == extent && (size_ == 0 || (index(0) == 0 && end_index() == extent));
  }
  /// Count in units of which `n` make one index: the axis together with one inside it that is selected whole.
  [[nodiscard]] AxisSelection refined(std::uint64_t n) const;

 private:
  AxisSelection() = default;
  [[nodiscard]] std::size_t run_at(std::uint64_t position) const;

  std::uint64_t start_ = 0, stride_ = 1, block_ = 1, size_ = 0;
  std::vector<Run> runs_;                     // empty: regular
  std::vector<std::uint64_t> run_positions_;  // of the first index of each run
};

struct SelectionPart {
  std::uint64_t first_rank = 0;
  std::uint64_t size = 0;
  std::vector<AxisSelection> axes;
};

struct Selection {
  std::vector<std::uint64_t> extent;  ///< Extent of the array that is selected from.
  std::vector<SelectionPart> parts;   ///< By ascending rank, without gaps; none is empty.
  std::uint64_t size = 0;             ///< Elements.
  /// Return the first index along axis 0, and one past the last one.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> rows() const;
};

/// Return the first part that selects something in row `row` (the index along axis 0) or after it; the end if none
/// does.
std::vector<SelectionPart>::const_iterator first_part_after(const std::vector<SelectionPart>& parts, std::uint64_t row);

/// Return the selection of all elements.
Selection select_all(const std::vector<std::uint64_t>& extent);

/// Read what a dataspace selects of an array. \param extent  The array's shape: the extent that a file's own dataspaces
/// of mappings say is of no meaning.
/// Errors: kUnsupported for unlimited selections, points, and unions that fall into very many parts; kCorruptData for
/// one that reaches past the array.
Result<Selection> read_selection(const LibraryLock&, hid_t space, const std::vector<std::uint64_t>& extent);

}  // namespace headrace::hdf5
