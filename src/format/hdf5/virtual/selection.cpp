#include "format/hdf5/virtual/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <span>

namespace headrace::hdf5 {
namespace {

constexpr hssize_t kBlocksLimit = 1'000'000;        // of one selection
constexpr std::size_t kUnevenBlocksLimit = 10'000;  // where axes depend on each other: each cut looks at all of them
constexpr std::size_t kPartsLimit = 100'000;

using Runs = std::vector<AxisSelection::Run>;
using Block = Runs;  // a box of selected elements: one run along each axis
using Blocks = std::vector<const Block*>;

/// Return the indices along `axis` that any block has, as runs with gaps between them.
Runs indices_along(const Blocks& blocks, std::size_t axis) {
  Runs runs, joined;
  for (const Block* b : blocks) runs.push_back((*b)[axis]);
  std::ranges::sort(runs, {}, &AxisSelection::Run::first);
  for (const AxisSelection::Run& r : runs) {
    if (!joined.empty() && r.first <= joined.back().first + joined.back().count) {
      AxisSelection::Run& last = joined.back();
      last.count = std::max(last.count, r.first + r.count - last.first);
    } else {
      joined.push_back(r);
    }
  }
  return joined;
}

/// Return the indices along each axis from `axis` on if the blocks, which do not overlap, hold all combinations of
/// them.
std::optional<std::vector<Runs>> independent_axes(const Blocks& blocks, std::size_t axis) {
  std::uint64_t combinations = 1, elements = 0;
  bool fits = true;
  std::vector<Runs> along;
  for (std::size_t d = axis; d < blocks[0]->size(); ++d) {
    along.push_back(indices_along(blocks, d));
    std::uint64_t n = 0;
    for (const AxisSelection::Run& r : along.back()) n += r.count;
    fits = fits && !__builtin_mul_overflow(combinations, n, &combinations);
  }
  for (const Block* b : blocks) {
    std::uint64_t n = 1;
    for (std::size_t d = axis; d < b->size(); ++d) n *= (*b)[d].count;
    elements += n;
  }
  // The elements are among the combinations: if they are as many, they are all of them.
  if (!fits || combinations != elements) return {};
  return along;
}

Status add_part(std::vector<AxisSelection> axes, Selection& out) {
  if (out.parts.size() >= kPartsLimit)
    return Error(ErrorCode::kUnsupported, fmt::format("a selection that falls into more than {} parts", kPartsLimit));
  SelectionPart part{out.size, 1, std::move(axes)};
  bool fits = true;
  for (const AxisSelection& a : part.axes) fits = fits && !__builtin_mul_overflow(part.size, a.size(), &part.size);
  if (!fits || __builtin_add_overflow(out.size, part.size, &out.size))
    return Error(ErrorCode::kCorruptData, "a selection of more elements than any array has");
  if (part.size > 0) out.parts.push_back(std::move(part));
  return {};
}

/// Cut blocks into parts, in row-major order. \param outer  The index along each axis before `axis`.
Status cut(const Blocks& blocks, std::size_t axis, const std::vector<AxisSelection>& outer, Selection& out) {
  if (const auto along = independent_axes(blocks, axis)) {
    std::vector<AxisSelection> axes = outer;
    for (const Runs& runs : *along) axes.emplace_back(runs);
    return add_part(std::move(axes), out);
  }
  if (blocks.size() > kUnevenBlocksLimit)
    return Error(ErrorCode::kUnsupported, fmt::format("a selection of {} uneven blocks", blocks.size()));
  std::vector<std::uint64_t> edges;  // between two of them all rows have the same elements
  for (const Block* b : blocks) edges.insert(edges.end(), {(*b)[axis].first, (*b)[axis].first + (*b)[axis].count});
  std::ranges::sort(edges);
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  for (std::size_t e = 0; e + 1 < edges.size(); ++e) {
    Blocks here;
    for (const Block* b : blocks)
      if ((*b)[axis].first <= edges[e] && edges[e] < (*b)[axis].first + (*b)[axis].count) here.push_back(b);
    if (here.empty()) continue;
    std::vector<AxisSelection> axes = outer;
    axes.emplace_back(edges[e], 1, 1, edges[e + 1] - edges[e]);
    if (const auto along = independent_axes(here, axis + 1)) {
      for (const Runs& runs : *along) axes.emplace_back(runs);
      HEADRACE_TRY(add_part(std::move(axes), out));
      continue;
    }
    for (std::uint64_t row = edges[e]; row < edges[e + 1]; ++row) {  // their elements alternate with each other's
      axes.back() = {row, 1, 1, 1};
      HEADRACE_TRY(cut(here, axis + 1, axes, out));
    }
  }
  return {};
}

Status read_regular(const LibraryLock& library, hid_t space, Selection& out) {
  const std::size_t rank = out.extent.size();
  std::array<hsize_t, H5S_MAX_RANK> start{}, stride{}, count{}, block{};
  if (H5Sget_regular_hyperslab(space, start.data(), stride.data(), count.data(), block.data()) < 0)
    return Error(ErrorCode::kCorruptData, "a selection is damaged: " + last_library_error(library).text());
  std::vector<AxisSelection> axes;
  for (std::size_t d = 0; d < rank; ++d) {
    if (count[d] == H5S_UNLIMITED || block[d] == H5S_UNLIMITED)
      return Error(ErrorCode::kUnsupported, "virtual sources without an end");
    const std::uint64_t extent = out.extent[d];
    std::uint64_t span = 0;
    const bool inside = count[d] == 0 || block[d] == 0 ||
                        (start[d] < extent && block[d] <= extent && (count[d] == 1 || stride[d] >= block[d]) &&
                         !__builtin_mul_overflow(count[d] - 1, stride[d], &span) && span < extent - start[d] &&
                         block[d] <= extent - start[d] - span);
    if (!inside) return Error(ErrorCode::kCorruptData, "a selection reaches past the array that it is of");
    axes.emplace_back(start[d], stride[d], count[d], block[d]);
  }
  return add_part(std::move(axes), out);
}

Status read_blocks(const LibraryLock& library, hid_t space, Selection& out) {
  const std::size_t rank = out.extent.size();
  const hssize_t count = H5Sget_select_hyper_nblocks(space);
  if (count < 0 || rank == 0)
    return Error(ErrorCode::kCorruptData, "a selection is damaged: " + last_library_error(library).text());
  if (count > kBlocksLimit) return Error(ErrorCode::kUnsupported, fmt::format("a selection of {} blocks", count));
  std::vector<hsize_t> corners(static_cast<std::size_t>(count) * 2 * rank);
  if (count > 0 && H5Sget_select_hyper_blocklist(space, 0, static_cast<hsize_t>(count), corners.data()) < 0)
    return Error(ErrorCode::kCorruptData, "a selection is damaged: " + last_library_error(library).text());
  std::vector<Block> blocks(static_cast<std::size_t>(count));
  Blocks all;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (std::size_t d = 0; d < rank; ++d) {
      const hsize_t low = corners[b * 2 * rank + d], high = corners[(b * 2 + 1) * rank + d];
      if (high < low || high >= out.extent[d])
        return Error(ErrorCode::kCorruptData, "a selection reaches past the array that it is of");
      blocks[b].push_back({low, high - low + 1});
    }
    all.push_back(&blocks[b]);
  }
  return all.empty() ? Status() : cut(all, 0, {}, out);
}

}  // namespace

AxisSelection::AxisSelection(std::uint64_t start, std::uint64_t stride, std::uint64_t count, std::uint64_t block)
    : start_(start), stride_(stride), block_(block), size_(count * block) {
  if (count <= 1 || stride == block) stride_ = block_ = std::max<std::uint64_t>(size_, 1);  // no gaps
}

AxisSelection::AxisSelection(const std::vector<Run>& runs) {
  for (const Run& r : runs) {
    run_positions_.push_back(size_);
    size_ += r.count;
  }
  if (runs.size() > 1) {
    runs_ = runs;
  } else {
    if (!runs.empty()) *this = AxisSelection(runs[0].first, 1, 1, runs[0].count);
    run_positions_.clear();
  }
}

std::size_t AxisSelection::run_at(std::uint64_t position) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(run_positions_, position) - run_positions_.begin()) - 1;
}

std::uint64_t AxisSelection::index(std::uint64_t position) const {
  if (runs_.empty()) return start_ + position / block_ * stride_ + position % block_;
  const std::size_t r = run_at(position);
  return runs_[r].first + (position - run_positions_[r]);
}

std::uint64_t AxisSelection::run_from(std::uint64_t position) const {
  if (runs_.empty()) return block_ - position % block_;
  const std::size_t r = run_at(position);
  return runs_[r].count - (position - run_positions_[r]);
}

std::uint64_t AxisSelection::position_of(std::uint64_t index) const {
  if (runs_.empty()) {
    if (index <= start_) return 0;
    const std::uint64_t past = index - start_;
    std::uint64_t position = 0;
    if (__builtin_mul_overflow(past / stride_, block_, &position)) return size_;
    return std::min(position + std::min(past % stride_, block_), size_);
  }
  const auto next = std::ranges::upper_bound(runs_, index, {}, &Run::first);  // the first run that begins after it
  if (next == runs_.begin()) return 0;
  const auto r = static_cast<std::size_t>(next - runs_.begin()) - 1;
  return run_positions_[r] + std::min(index - runs_[r].first, runs_[r].count);
}

AxisSelection AxisSelection::refined(std::uint64_t n) const {
  AxisSelection out = *this;
  for (std::uint64_t* value : {&out.start_, &out.stride_, &out.block_, &out.size_}) *value *= n;
  for (Run& r : out.runs_) r = {r.first * n, r.count * n};
  for (std::uint64_t& p : out.run_positions_) p *= n;
  return out;
}

std::pair<std::uint64_t, std::uint64_t> Selection::rows() const {
  if (parts.empty()) return {0, 0};
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max(), end = 0;
  for (const SelectionPart& part : parts) {
    if (part.axes.empty()) return {0, 1};
    first = std::min(first, part.axes[0].index(0));
    end = std::max(end, part.axes[0].end_index());
  }
  return {first, end};
}

// Parts follow each other in row-major order, so none ends after a later one does.
std::vector<SelectionPart>::const_iterator first_part_after(const std::vector<SelectionPart>& parts,
                                                            std::uint64_t row) {
  return std::ranges::partition_point(parts,
                                      [&](const SelectionPart& part) { return part.axes[0].end_index() <= row; });
}

Selection select_all(const std::vector<std::uint64_t>& extent) {
  Selection out{extent, {}, 0};
  SelectionPart part{0, 1, {}};
  for (const std::uint64_t n : extent) {
    part.axes.push_back(AxisSelection::all(n));
    part.size *= n;  // of an array, whose elements are counted
  }
  out.size = part.size;
  if (part.size > 0) out.parts.push_back(std::move(part));
  return out;
}

Result<Selection> read_selection(const LibraryLock& library, hid_t space, const std::vector<std::uint64_t>& extent) {
  Selection out{extent, {}, 0};
  const H5S_sel_type kind = H5Sget_select_type(space);
  if (kind == H5S_SEL_ALL) return select_all(extent);
  if (kind == H5S_SEL_NONE) return out;
  if (kind != H5S_SEL_HYPERSLABS) return Error(ErrorCode::kUnsupported, "a selection that is no hyperslab");
  const int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 0 || static_cast<std::size_t>(rank) != extent.size())
    return Error(ErrorCode::kCorruptData, fmt::format("a selection of rank {} of an array of {}", rank, extent.size()));
  if (H5Sis_regular_hyperslab(space) > 0) {
    HEADRACE_TRY(read_regular(library, space, out));
  } else {
    HEADRACE_TRY(read_blocks(library, space, out));
  }
  return out;
}

}  // namespace headrace::hdf5
