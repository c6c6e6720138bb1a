#include "catalog/row_geometry.h"

namespace headrace {

void RowGeometry::simplify() {
  std::vector<Loop> kept;
  for (const Loop& l : loops)
    if (l.count != 1) kept.push_back(l);
  // Innermost loop over touching runs: one longer run.
  while (!kept.empty() && kept.back().src_stride_bytes == run_bytes && kept.back().dst_stride_bytes == run_bytes) {
    run_bytes *= kept.back().count;
    kept.pop_back();
  }
  // Two neighbouring loops that walk both sides evenly: one longer loop.
  for (std::size_t i = kept.size(); i-- > 1;) {
    Loop& outer = kept[i - 1];
    const Loop& inner = kept[i];
    if (outer.src_stride_bytes == inner.src_stride_bytes * inner.count &&
        outer.dst_stride_bytes == inner.dst_stride_bytes * inner.count) {
      outer = {outer.count * inner.count, inner.src_stride_bytes, inner.dst_stride_bytes};
      kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  loops = std::move(kept);
}

RowGeometry row_box(const std::vector<std::uint64_t>& src_shape, const std::vector<std::uint64_t>& dst_shape,
                    const std::vector<std::uint64_t>& src_start, const std::vector<std::uint64_t>& dst_start,
                    const std::vector<std::uint64_t>& box_count, std::uint64_t record_bytes,
                    std::uint64_t element_offset, std::uint64_t element_bytes) {
  RowGeometry g;
  g.run_bytes = element_bytes;
  g.src_offset_bytes = element_offset;
  std::size_t src_stride = record_bytes, dst_stride = element_bytes;
  g.loops.resize(box_count.size());
  for (std::size_t d = box_count.size(); d-- > 0;) {
    g.loops[d] = {box_count[d], src_stride, dst_stride};
    g.src_offset_bytes += src_start[d] * src_stride;
    g.dst_offset_bytes += dst_start[d] * dst_stride;
    src_stride *= src_shape[d];
    dst_stride *= dst_shape[d];
  }
  g.simplify();
  return g;
}

RowGeometry row_box(const std::vector<std::uint64_t>& src_shape, const std::vector<std::uint64_t>& dst_shape,
                    const std::vector<std::uint64_t>& src_start, const std::vector<std::uint64_t>& dst_start,
                    const std::vector<std::uint64_t>& box_count, std::uint64_t record_bytes,
                    const RowGeometry& element) {
  // An element of several runs leaves gaps in its record, so records were not merged into longer runs.
  RowGeometry g = row_box(src_shape, dst_shape, src_start, dst_start, box_count, record_bytes, element.src_offset_bytes,
                          element.filled_bytes());
  if (element.loops.empty()) return g;
  g.run_bytes = element.run_bytes;
  g.loops.insert(g.loops.end(), element.loops.begin(), element.loops.end());
  g.simplify();
  return g;
}

}  // namespace headrace
