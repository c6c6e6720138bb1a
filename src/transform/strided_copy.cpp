#include "transform/strided_copy.h"

#include <cstring>
#include <utility>

namespace headrace {

StridedCopy::StridedCopy(std::vector<std::uint64_t> extents, std::vector<std::int64_t> strides_bytes, std::size_t item)
    : extents_(std::move(extents)), strides_(std::move(strides_bytes)), item_(item) {
  // What lies together on both sides is copied together.
  while (!extents_.empty() && strides_.back() == static_cast<std::int64_t>(item_)) {
    item_ *= extents_.back();
    extents_.pop_back();
    strides_.pop_back();
  }
}

void StridedCopy::run(std::byte* to, const std::byte* from) const {
  copy(0, to, from);
}

void StridedCopy::copy(std::size_t axis, std::byte*& to, const std::byte* from) const {
  if (axis == extents_.size()) {
    std::memcpy(to, from, item_);
    to += item_;
    return;
  }
  if (axis + 1 < extents_.size()) {
    for (std::uint64_t i = 0; i < extents_[axis]; ++i, from += strides_[axis]) copy(axis + 1, to, from);
    return;
  }
  const auto elements = [&](auto bytes) {
    for (std::uint64_t i = 0; i < extents_[axis]; ++i, from += strides_[axis], to += bytes)
      std::memcpy(to, from, bytes);
  };
  switch (item_) {
    case 1:
      return elements(std::integral_constant<std::size_t, 1>{});
    case 2:
      return elements(std::integral_constant<std::size_t, 2>{});
    case 4:
      return elements(std::integral_constant<std::size_t, 4>{});
    case 8:
      return elements(std::integral_constant<std::size_t, 8>{});
    default:
      return elements(item_);
  }
}

std::vector<std::int64_t> dense_strides(std::span<const std::uint64_t> shape, std::size_t item) {
  std::vector<std::int64_t> strides(shape.size());
  auto stride = static_cast<std::int64_t>(item);
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= static_cast<std::int64_t>(shape[axis]);
  }
  return strides;
}

}  // namespace headrace
