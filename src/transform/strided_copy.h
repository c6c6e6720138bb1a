// Copies of boxes between dense arrays: what cropping, flipping, transposing and choosing have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transform/plane_copy.h"

namespace headrace {

/// Walks a box of the target in its order, and reads the source in strides that may be negative.
class StridedCopy {
 public:
  /// \param extents  Of the target. \param strides_bytes  Of the source, for each of its axes. \param item  Bytes of an
  /// element.
  StridedCopy(const std::vector<std::uint64_t>& extents, const std::vector<std::int64_t>& strides_bytes,
              std::size_t item);
  /// \param from  The source's element that becomes the target's first.
  void run(std::byte* to, const std::byte* from) const;

 private:
  /// An axis of the loops: so many places, so far apart in bytes on each side.
  struct Axis {
    std::uint64_t count;
    std::int64_t from, to;
  };
  enum class Inner : std::uint8_t { kNothing, kItem, kLine, kBackwards, kPlane };

  void choose_inner(std::vector<Axis> axes);
  void walk(std::size_t axis, std::byte* to, const std::byte* from) const;
  void copy_line(std::byte* to, const std::byte* from) const;

  std::size_t item_;         // bytes that lie together on both sides
  std::vector<Axis> outer_;  // the slowest first
  Inner inner_ = Inner::kItem;
  Axis line_{1, 0, 0};  // the target's last axis
  LineStack stack_;
  Plane plane_;
  std::int64_t first_from_ = 0, first_to_ = 0;
};

/// Return the strides of a dense array in bytes, first axis first.
std::vector<std::int64_t> dense_strides(std::span<const std::uint64_t> shape, std::size_t item);

}  // namespace headrace
