#include "transform/strided_copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace headrace {

StridedCopy::StridedCopy(const std::vector<std::uint64_t>& extents, const std::vector<std::int64_t>& strides_bytes,
                         std::size_t item)
    : item_(item) {
  const std::vector<std::int64_t> dense = dense_strides(extents, item);
  std::vector<Axis> axes;  // the fastest first
  for (std::size_t a = extents.size(); a-- > 0;) {
    if (extents[a] == 0) inner_ = Inner::kNothing;
    if (extents[a] == 1) continue;
    if (!axes.empty() && strides_bytes[a] == axes.back().from * static_cast<std::int64_t>(axes.back().count))
      axes.back().count *= extents[a];  // it goes on where the other ends
    else
      axes.push_back({extents[a], strides_bytes[a], dense[a]});
  }
  if (inner_ == Inner::kNothing) return;
  if (!axes.empty() && axes[0].from == static_cast<std::int64_t>(item_)) {
    item_ *= axes[0].count;
    axes.erase(axes.begin());
  }
  if (!axes.empty()) choose_inner(std::move(axes));
}

void StridedCopy::choose_inner(std::vector<Axis> axes) {
  const auto item = static_cast<std::int64_t>(item_);
  inner_ = Inner::kLine;
  line_ = axes[0];
  axes.erase(axes.begin());
  if (has_lanes(item_)) {
    const auto fast = std::ranges::find_if(axes, [&](const Axis& axis) { return std::abs(axis.from) == item; });
    if (line_.from == -item) {
      inner_ = Inner::kBackwards;
      stack_ = {1, 0, 0, line_.count};
      if (!axes.empty()) {
        stack_ = {axes[0].count, axes[0].from, axes[0].to, line_.count};
        axes.erase(axes.begin());
      }
      first_from_ = static_cast<std::int64_t>(line_.count - 1) * -item;
    } else if (fast != axes.end()) {
      inner_ = Inner::kPlane;
      plane_ = {line_.count, line_.from, fast->count, fast->to};
      if (fast->from < 0) {  // backwards in the target instead
        const auto steps = static_cast<std::int64_t>(fast->count - 1);
        first_from_ = -steps * item;
        first_to_ = steps * fast->to;
        plane_.line_to = -fast->to;
      }
      axes.erase(fast);
      if (!axes.empty()) plane_.next_to = axes[0].to;
    }
  }
  outer_.assign(axes.rbegin(), axes.rend());
}

void StridedCopy::run(std::byte* to, const std::byte* from) const {
  if (inner_ != Inner::kNothing) walk(0, to + first_to_, from + first_from_);
}

void StridedCopy::walk(std::size_t axis, std::byte* to, const std::byte* from) const {
  if (axis < outer_.size()) {
    const Axis& loop = outer_[axis];
    for (std::uint64_t i = 0; i < loop.count; ++i, to += loop.to, from += loop.from) walk(axis + 1, to, from);
    return;
  }
  switch (inner_) {
    case Inner::kNothing:
      return;
    case Inner::kItem:
      std::memcpy(to, from, item_);
      return;
    case Inner::kLine:
      return copy_line(to, from);
    case Inner::kBackwards:
      return copy_backwards(stack_, to, from, item_);
    case Inner::kPlane:
      return copy_plane(plane_, to, from, item_);
  }
}

void StridedCopy::copy_line(std::byte* to, const std::byte* from) const {
  const auto elements = [&](auto bytes) {
    for (std::uint64_t i = 0; i < line_.count; ++i, from += line_.from, to += bytes) std::memcpy(to, from, bytes);
  };
  switch (item_) {
    case 1:
      return elements(std::integral_constant<std::size_t, 1>{});
    case 2:
      return elements(std::integral_constant<std::size_t, 2>{});
    case 3:  // colours
      return elements(std::integral_constant<std::size_t, 3>{});
    case 4:
      return elements(std::integral_constant<std::size_t, 4>{});
    case 8:
      return elements(std::integral_constant<std::size_t, 8>{});
    case 64:
      return elements(std::integral_constant<std::size_t, 64>{});
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
