#include "assembly/servers/box_copy.h"

#include <array>
#include <cstring>
#include <utility>

#include "assembly/copying/row_copy.h"

namespace headrace {
namespace {

constexpr std::size_t kLongestHalf = 64;  // runs of more than two of them gain nothing

/// Runs of kHalf to 2 * kHalf bytes: two moves that may overlap, where a call of memcpy takes longer than its work.
template <std::size_t kHalf>
struct HalvesRun {
  std::size_t second;  // where the second half begins
  void operator()(std::byte* to, const std::byte* from) const {
    std::array<std::byte, kHalf> low, high;
    std::memcpy(low.data(), from, kHalf);
    std::memcpy(high.data(), from + second, kHalf);
    std::memcpy(to, low.data(), kHalf);
    std::memcpy(to + second, high.data(), kHalf);
  }
};
struct ByteRun {
  void operator()(std::byte* to, const std::byte* from) const { *to = *from; }
};
struct AnyRun {
  std::size_t bytes;
  void operator()(std::byte* to, const std::byte* from) const { copy_run(to, from, bytes); }
};

struct Plane {
  std::uint64_t count, from_stride, to_stride;
};

template <class Run>
void copy_planes(const Plane* outer, const Plane* last, const std::byte* from, std::byte* to, Run run, BoxCopied& out) {
  if (outer == last) {
    for (std::uint64_t i = 0; i < outer->count; ++i) run(to + i * outer->to_stride, from + i * outer->from_stride);
    out.last_from = from + (outer->count - 1) * outer->from_stride;
    out.last_to = to + (outer->count - 1) * outer->to_stride;
    return;
  }
  for (std::uint64_t i = 0; i < outer->count; ++i)
    copy_planes(outer + 1, last, from + i * outer->from_stride, to + i * outer->to_stride, run, out);
}

/// Call `work` with what copies runs of so many bytes best.
template <std::size_t kHalf = 1, class Work>
void with_kernel(std::size_t bytes, Work work) {
  if (bytes == 1) return work(ByteRun{});
  if (bytes <= 2 * kHalf) return work(HalvesRun<kHalf>{bytes - kHalf});
  if constexpr (kHalf < kLongestHalf)
    with_kernel<2 * kHalf>(bytes, work);
  else
    work(AnyRun{bytes});
}

}  // namespace

BoxCopied copy_box(const CellGrid& grid, const BoxOverlap& overlap, const std::byte* cell, const Axes& box,
                   std::byte* to) {
  const std::uint64_t item = grid.element_bytes;
  BoxCopied out;
  out.first_from = out.last_from = cell + overlap.cell_offset * item;
  out.first_to = out.last_to = to + overlap.box_offset * item;
  // The innermost axis is one run; every axis that both sides have whole makes it longer.
  std::size_t axis = grid.rank - 1;
  const Axes& extents = grid.extents();
  std::uint64_t run = overlap.count[axis], cell_stride = extents[axis], box_stride = box[axis];
  out.run_bytes = run * item;
  while (axis > 0 && run == cell_stride && run == box_stride) {
    --axis;
    run *= overlap.count[axis];
    cell_stride *= extents[axis];
    box_stride *= box[axis];
  }
  Plane planes[kMostVolumeAxes] = {{1, 0, 0}};
  std::size_t num_planes = 0;
  std::uint64_t bytes = run * item;
  for (std::size_t a = axis; a-- > 0;) {  // from the inside out, and then turned round
    planes[num_planes++] = {overlap.count[a], cell_stride * item, box_stride * item};
    bytes *= overlap.count[a];
    cell_stride *= extents[a];
    box_stride *= box[a];
  }
  for (std::size_t i = 0; i < num_planes / 2; ++i) std::swap(planes[i], planes[num_planes - 1 - i]);
  const Plane* const last = planes + (num_planes > 0 ? num_planes - 1 : 0);
  with_kernel(run * item, [&](auto kernel) { copy_planes(planes, last, out.first_from, out.first_to, kernel, out); });
  // The last run of the innermost axis lies inside the last run that was copied.
  out.last_from += run * item - out.run_bytes;
  out.last_to += run * item - out.run_bytes;
  out.bytes = bytes;
  return out;
}

void fill_outside(const CellGrid& grid, const BoxOverlap& overlap, const std::byte* element, const Axes& box,
                  std::byte* to) {
  const std::uint64_t item = grid.element_bytes;
  const std::size_t last = grid.rank - 1;
  const auto fill = [&](std::uint64_t first, std::uint64_t count) {
    for (std::byte* out = to + first * item; count > 0; --count, out += item) std::memcpy(out, element, item);
  };
  Axes at{};  // row of the part of the box that is the cell's
  for (;;) {
    bool inside = true;
    std::uint64_t row = 0;
    for (std::size_t a = 0; a < last; ++a) {
      const std::uint64_t along = overlap.owned_begin[a] + at[a];
      inside = inside && along >= overlap.box_begin[a] && along - overlap.box_begin[a] < overlap.count[a];
      row = row * box[a] + along;
    }
    const std::uint64_t begin = row * box[last] + overlap.owned_begin[last];
    const std::uint64_t before = overlap.box_begin[last] - overlap.owned_begin[last];
    const std::uint64_t copied = inside ? before + overlap.count[last] : 0;
    if (inside) fill(begin, before);
    fill(begin + copied, overlap.owned[last] - copied);
    std::size_t a = last;
    while (a > 0 && ++at[a - 1] == overlap.owned[a - 1]) at[--a] = 0;
    if (a == 0) return;
  }
}

}  // namespace headrace
