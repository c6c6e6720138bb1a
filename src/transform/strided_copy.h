// Copies of boxes between dense arrays: what cropping, flipping, transposing and choosing have in common.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headrace {

/// Walks a box of the target in its order, and reads the source in strides that may be negative.
class StridedCopy {
 public:
  /// \param extents  Of the target. \param strides_bytes  Of the source, for each of its axes. \param item  Bytes of an
  /// element.
  StridedCopy(std::vector<std::uint64_t> extents, std::vector<std::int64_t> strides_bytes, std::size_t item);
  /// \param from  The source's element that becomes the target's first.
  void run(std::byte* to, const std::byte* from) const;

 private:
  void copy(std::size_t axis, std::byte*& to, const std::byte* from) const;
  std::vector<std::uint64_t> extents_;
  std::vector<std::int64_t> strides_;
  std::size_t item_;
};

/// Return the strides of a dense array in bytes, first axis first.
std::vector<std::int64_t> dense_strides(std::span<const std::uint64_t> shape, std::size_t item);

}  // namespace headrace
