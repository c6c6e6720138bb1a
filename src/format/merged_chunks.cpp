#include "format/merged_chunks.h"

#include <algorithm>

namespace headrace {
namespace {

constexpr std::uint64_t kSmallBytes = 8 << 20;  // up to here rows of one index are decoded together rather than listed

}  // namespace

MergedChunks::MergedChunks(const std::vector<std::uint64_t>& shape, const std::vector<std::uint64_t>& chunk,
                           std::size_t axes) {
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::uint64_t length = std::max<std::uint64_t>(chunk[d], 1);
    const std::uint64_t grid = shape[d] / length + (shape[d] % length != 0);
    if (d < axes)
      axes_.push_back({shape[d], length, grid, 1, 1});
    else
      across_ *= grid;
  }
  for (std::size_t d = axes; d-- > 1;) {
    axes_[d - 1].rows = axes_[d].rows * axes_[d].size;
    axes_[d - 1].cells = axes_[d].cells * axes_[d].chunk;
  }
}

std::uint64_t MergedChunks::cells_a_row() const {
  return axes_[0].cells;
}

std::uint64_t MergedChunks::rows_together(std::uint64_t row_bytes, std::vector<std::uint64_t>& ends) const {
  ends.clear();
  // Axes along which chunks have length 1 cut between any two indices.
  const auto cut = std::ranges::find_if(axes_, [](const Axis& a) { return a.chunk > 1 && a.size > 1; });
  if (cut == axes_.end()) return 1;
  const Axis& axis = *cut;
  const std::uint64_t length = std::min(axis.chunk, axis.size), index = axis.size * axis.rows;
  if (cut == axes_.begin() || axis.size % length == 0 || axes_[0].size * axes_[0].rows == index)
    return length * axis.rows;
  if (index <= kSmallBytes / std::max<std::uint64_t>(row_bytes, 1)) return index;
  const std::uint64_t rows = axes_[0].size * axes_[0].rows;
  for (std::uint64_t first = 0; first < rows; first += index)
    for (std::uint64_t i = length; i < axis.size + length; i += length)
      ends.push_back(first + std::min(i, axis.size) * axis.rows);
  return length * axis.rows;
}

void MergedChunks::cells_of(RowRange rows, std::vector<std::uint64_t>& out) const {
  // Along the axes that the first and the last row share, chunks of one index; along the next, from one to the other;
  // along those behind, all.
  std::vector<std::uint64_t> begin(axes_.size(), 0), end(axes_.size());
  std::uint64_t first = rows.first, last = rows.end() - 1;
  bool same = true;
  for (std::size_t d = 0; d < axes_.size(); ++d) {
    const Axis& a = axes_[d];
    const std::uint64_t from = first / a.rows, to = last / a.rows;
    begin[d] = same ? from / a.chunk : 0;
    end[d] = same ? to / a.chunk + 1 : a.grid;
    same = same && from == to;
    first %= a.rows;
    last %= a.rows;
  }
  std::vector<std::uint64_t> at = begin;
  for (;;) {
    std::uint64_t cell = 0;
    for (std::size_t d = 0; d < axes_.size(); ++d) cell = cell * axes_[d].grid + at[d];
    const RowRange here = rows_of(cell * across_);
    if (here.first < rows.end() && rows.first < here.end())
      for (std::uint64_t i = 0; i < across_; ++i) out.push_back(cell * across_ + i);
    std::size_t d = axes_.size();
    while (d > 0 && ++at[d - 1] == end[d - 1]) --d, at[d] = begin[d];
    if (d == 0) return;
  }
}

MergedChunks::Box MergedChunks::box_of(std::uint64_t cell) const {
  Box box{std::vector<std::uint64_t>(axes_.size()), std::vector<std::uint64_t>(axes_.size())};
  cell /= across_;
  for (std::size_t d = axes_.size(); d-- > 0; cell /= axes_[d].grid) {
    box.start[d] = cell % axes_[d].grid * axes_[d].chunk;
    box.count[d] = std::min(axes_[d].chunk, axes_[d].size - box.start[d]);
  }
  return box;
}

RowRange MergedChunks::rows_of(std::uint64_t cell) const {
  const Box box = box_of(cell);
  std::uint64_t first = 0, last = 0;
  for (std::size_t d = 0; d < axes_.size(); ++d) {
    first += box.start[d] * axes_[d].rows;
    last += (box.start[d] + box.count[d] - 1) * axes_[d].rows;
  }
  return {first, last - first + 1};
}

std::size_t MergedChunks::first_whole_axis() const {
  std::size_t d = axes_.size();
  while (d > 0 && axes_[d - 1].chunk == axes_[d - 1].size) --d;
  return d;
}

void MergedChunks::runs_of(std::uint64_t cell, std::vector<PieceRun>& out) const {
  const Box box = box_of(cell);
  const std::size_t whole = first_whole_axis(), inner = whole == 0 ? 0 : whole - 1;  // a run goes along this axis
  const std::uint64_t run = box.count[inner] * axes_[inner].rows;
  std::uint64_t num_runs = 1;
  for (std::size_t d = 0; d < inner; ++d) num_runs *= box.count[d];
  if (num_runs == 1) return;  // all rows, one behind the other
  std::vector<std::uint64_t> at(inner, 0);
  for (std::uint64_t i = 0; i < num_runs; ++i) {
    std::uint64_t first = box.start[inner] * axes_[inner].rows, index = 0;
    for (std::size_t d = 0; d < inner; ++d) {
      first += (box.start[d] + at[d]) * axes_[d].rows;
      index += at[d] * axes_[d].cells;
    }
    out.push_back({first, run, index});
    for (std::size_t d = inner; d > 0; --d) {
      if (++at[d - 1] < box.count[d - 1]) break;
      at[d - 1] = 0;
    }
  }
}

}  // namespace headrace
