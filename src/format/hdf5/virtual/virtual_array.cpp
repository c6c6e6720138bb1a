#include "format/hdf5/virtual/virtual_array.h"
#include "base/memory/fill_elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "format/hdf5/types/native_bytes.h"
#include "format/hdf5/virtual/virtual_assembly.h"
#include "format/outside_files.h"

namespace headrace::hdf5 {
namespace {

constexpr std::size_t kRunsLimit = 1'000'000;  // looked at to see whether all rows are mapped

}  // namespace

VirtualArray::VirtualArray(std::shared_ptr<FileState> state, DatasetInfo info, std::vector<std::byte> fill_element)
    : RowsArray(std::move(state), std::move(info)), fill_element_(std::move(fill_element)) {
  const VirtualLayout& layout = *info_.virtual_layout;
  for (const VirtualSource& source : layout.sources) {
    sources_.push_back(prepare_source(source, info_));
    const PreparedSource& s = sources_.back();
    source_bytes_ = std::max({source_bytes_, s.stored_bytes, s.out_bytes + s.converted_bytes});
    filter_bytes_ = std::max(filter_bytes_, s.filter_bytes);
  }
  for (const VirtualMapping& mapping : layout.mappings)
    mappings_.push_back(prepare_mapping(mapping, info_, sources_[mapping.source].whole_rows));
  by_first_row_.resize(mappings_.size());
  std::iota(by_first_row_.begin(), by_first_row_.end(), 0U);
  std::ranges::stable_sort(by_first_row_, {}, [&](std::uint32_t i) { return mappings_[i].first_row; });
  std::uint64_t end = 0;
  for (const std::uint32_t i : by_first_row_) ends_.push_back(end = std::max(end, mappings_[i].end_row));
  needs_fill_ = !all_rows_mapped();
}

/// True if whole rows are mapped, to all rows.
bool VirtualArray::all_rows_mapped() const {
  std::vector<AxisSelection::Run> runs;
  for (const PreparedMapping& m : mappings_) {
    if (!m.by_rows) continue;
    for (const SelectionPart& part : m.into.parts)
      for (std::uint64_t at = 0; at < part.size; at += runs.back().count) {
        if (runs.size() >= kRunsLimit) return false;
        runs.push_back({part.axes[0].index(at), part.axes[0].run_from(at)});
      }
  }
  std::ranges::sort(runs, {}, &AxisSelection::Run::first);
  std::uint64_t end = 0;
  for (const AxisSelection::Run& r : runs) {
    if (r.first > end) return false;
    end = std::max(end, r.first + r.count);
  }
  return end == info().rows();
}

/// Return the first rows from `row` on that something is mapped to, as far as one mapping has them without a gap; none
/// at the end.
RowRange VirtualArray::next_mapped(std::uint64_t row) const {
  RowRange next{info().rows(), 0};
  const auto begin = by_first_row_.begin() + (std::ranges::upper_bound(ends_, row) - ends_.begin());
  for (auto i = begin; i != by_first_row_.end() && mappings_[*i].first_row < next.first; ++i) {
    const std::vector<SelectionPart>& parts = mappings_[*i].into.parts;
    const auto part = first_part_after(parts, row);
    if (part == parts.end()) continue;
    const AxisSelection& axis = part->axes[0];
    const std::uint64_t at = axis.position_of(row);
    if (axis.index(at) < next.first) next = {axis.index(at), axis.run_from(at)};
  }
  return next;
}

// Rows to which nothing is mapped may be any number: they are passed over, unless they are few.
Result<std::uint64_t> VirtualArray::locate_written(RowRange rows, std::vector<Piece>& out) const {
  HEADRACE_TRY(check_rows(rows));
  if (!needs_fill_) {
    HEADRACE_TRY(locate(rows, out));
    return std::uint64_t{0};
  }
  const std::uint64_t few = kVirtualGapBytes / std::max<std::uint64_t>(info_.row_bytes, 1);
  std::uint64_t gaps = 0;
  for (std::uint64_t row = rows.first; row < rows.end();) {
    RowRange mapped = next_mapped(row);
    const bool goes_on =
        row == rows.first && row > 0 && next_mapped(row - 1).first != row - 1;  // counted where it began
    if (mapped.first > row && !goes_on) ++gaps;
    if (mapped.first >= rows.end()) break;
    for (RowRange more = next_mapped(mapped.end()); more.count > 0 && more.first - mapped.end() <= few;
         more = next_mapped(mapped.end())) {
      mapped.count = more.end() - mapped.first;
      if (mapped.end() >= rows.end()) break;
    }
    const std::uint64_t end = std::min(mapped.end(), rows.end());
    HEADRACE_TRY(locate({mapped.first, end - mapped.first}, out));
    row = end;
  }
  return gaps;
}

ScratchNeed VirtualArray::scratch_need(std::uint64_t max_rows) const {
  return {std::min(max_rows, info().rows()) * info_.row_bytes, filter_bytes_ + source_bytes_};
}

std::vector<OutsideFile> VirtualArray::other_files() const {
  OutsideFiles others;
  for (const PreparedSource& s : sources_) {
    const RandomAccessFile& file = s.array->file();
    if (&file != &this->file()) others.add({file.name(), file.fingerprint()});
    for (OutsideFile& other : s.array->other_files()) others.add(std::move(other));
  }
  return std::move(others).take();
}

Result<DecodedPiece> VirtualArray::decode(const Piece& piece, std::span<const std::byte>,
                                          const DecodeScratch& scratch) const {
  const std::size_t bytes = bytes_of(piece.rows), work = filter_bytes_ + source_bytes_;
  if (scratch.out.size() < bytes || std::min(scratch.ping.size(), scratch.pong.size()) < work)
    return placed(Error(ErrorCode::kInternal,
                        fmt::format("scratch of {}, {} and {} bytes, {} and twice {} needed", scratch.out.size(),
                                    scratch.ping.size(), scratch.pong.size(), bytes, work)),
                  piece);
  const std::span<std::byte> target = scratch.out.first(bytes);
  if (needs_fill_) fill_elements(fill_element_, fill_element_.size(), target);
  // Mappings that begin before the rows end, and of these not those before which all have ended.
  const auto end = std::ranges::lower_bound(by_first_row_, piece.rows.end(), {},
                                            [&](std::uint32_t i) { return mappings_[i].first_row; });
  const auto begin = by_first_row_.begin() + (std::ranges::upper_bound(ends_, piece.rows.first) - ends_.begin());
  std::vector<std::uint32_t> met;
  for (auto i = begin; i < end; ++i)
    if (mappings_[*i].end_row > piece.rows.first) met.push_back(*i);
  std::ranges::sort(met);  // a later one hides what an earlier one put there
  VirtualAssembly assembly({sources_, info_.element.record_bytes, filter_bytes_}, piece.rows,
                           {target, scratch.ping, scratch.pong});
  for (const std::uint32_t i : met)
    if (Status status = assembly.read(mappings_[i]); !status.ok()) return placed(std::move(status.error()), piece);
  return DecodedPiece{target.data(), info_.row_bytes};
}

}  // namespace headrace::hdf5
