#include "format/hdf5/virtual/virtual_mapping.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <tuple>
#include <vector>

#include "base/memory/align.h"

namespace headrace::hdf5 {
namespace {

constexpr std::uint64_t kBatchBytes = 1 << 20;  // rows of a source without chunks that are read at a time

std::uint64_t product(std::span<const std::uint64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
}

/// True if all parts select axis `d` whole.
bool axis_is_whole(const Selection& s, std::size_t d) {
  return std::ranges::all_of(s.parts, [&](const SelectionPart& part) { return part.axes[d].covers(s.extent[d]); });
}

/// Make one axis of the last one, which is selected whole, and the one before it.
void join_last_axes(Selection& s) {
  const std::uint64_t inner = s.extent.back();
  s.extent.pop_back();
  s.extent.back() *= inner;
  for (SelectionPart& part : s.parts) {
    part.axes.pop_back();
    part.axes.back() = part.axes.back().refined(inner);
  }
}

/// Count in rows: all axes but the first are selected whole.
void keep_first_axis(Selection& s) {
  const std::uint64_t row = product(std::span(s.extent).subspan(1));
  s.extent.resize(1);
  s.size /= row;
  for (SelectionPart& part : s.parts) {
    part.first_rank /= row;
    part.size /= row;
    part.axes.erase(part.axes.begin() + 1, part.axes.end());
  }
}

}  // namespace

PreparedSource prepare_source(const VirtualSource& source, const DatasetInfo& info) {
  PreparedSource out;
  out.array = source.array.get();
  out.conversion = source.conversion.get();
  const DatasetInfo& d = out.array->described();
  const ArrayInfo& a = d.array;
  std::uint64_t piece_bytes = 0;
  if (a.chunk_shape.empty()) {
    out.batch_rows = std::clamp<std::uint64_t>(kBatchBytes / std::max<std::uint64_t>(d.row_bytes, 1), 1, a.rows());
    piece_bytes = out.batch_rows * d.row_bytes;
    out.stored_bytes = align_up(d.row_bytes == 0 ? 0 : out.batch_rows * d.stored_row_bytes());
  } else {
    out.chunk_rows = a.chunk_shape[0];
    piece_bytes = std::max(d.chunk_bytes, out.array->pieces_across() == 1 ? out.chunk_rows * d.row_bytes : 0);
    // What does not compress grows a little; the rare chunk that is still larger gets memory of its own.
    const std::uint64_t stored = std::max(piece_bytes, d.stored_form.chunk_bytes);
    out.stored_bytes = align_up(stored + stored / 4 + 1024);
  }
  const ScratchNeed need = out.array->scratch_need(out.batch_rows);
  out.out_bytes = align_up(need.out_bytes);
  out.filter_bytes = align_up(need.filter_bytes);
  if (out.conversion != nullptr && a.record_bytes > 0) {
    const std::uint64_t elements = piece_bytes / d.element.record_bytes;
    out.converted_bytes = align_up(elements * info.element.record_bytes);
    out.filter_bytes = std::max(out.filter_bytes, align_up(out.conversion->scratch_bytes(elements)));
  }
  out.whole_rows = out.array->pieces_across() == 1 &&
                   out.array->row_box_of(0).src_shape == std::vector(a.shape.begin() + 1, a.shape.end());
  return out;
}

PreparedMapping prepare_mapping(const VirtualMapping& mapping, const DatasetInfo& info, bool whole_pieces) {
  PreparedMapping m{mapping.source, mapping.into, mapping.from, info.element.record_bytes};
  std::tie(m.first_row, m.end_row) = m.into.rows();
  const auto rows_are_whole = [](const Selection& s) {
    bool whole = true;
    for (std::size_t d = 1; d < s.extent.size(); ++d) whole = whole && axis_is_whole(s, d);
    return whole;
  };
  const std::uint64_t row = product(std::span(m.into.extent).subspan(1));
  m.by_rows = whole_pieces && row == product(std::span(m.from.extent).subspan(1)) && rows_are_whole(m.into) &&
              rows_are_whole(m.from);
  if (m.by_rows) {
    keep_first_axis(m.into);
    keep_first_axis(m.from);
    m.unit_bytes = info.row_bytes;
    return m;
  }
  m.row_units = row;
  while (m.into.extent.size() > 2 && axis_is_whole(m.into, m.into.extent.size() - 1)) join_last_axes(m.into);
  while (whole_pieces && m.from.extent.size() > 2 && axis_is_whole(m.from, m.from.extent.size() - 1)) {
    join_last_axes(m.from);
    m.joined = true;
  }
  return m;
}

}  // namespace headrace::hdf5
