#include "assembly/pieces/wanted_rows.h"

#include <algorithm>

namespace headrace {
namespace {

constexpr std::uint64_t kSparseGapBytes = 64 << 10;  // rows nearer than this are read together

}  // namespace

void WantedRows::add(const Wanted& wanted) {
  for (const Move& m : wanted.moves) add({m.row, m.count});
  for (const Request& r : wanted.requests) add({r.item, 1});
}

/// Overlapping runs are joined, so that their ends ascend as well.
void WantedRows::seal() {
  const auto by_first = [](const Rows& a, const Rows& b) { return a.first < b.first; };
  if (!std::ranges::is_sorted(rows_, by_first)) std::ranges::sort(rows_, by_first);
  std::size_t kept = 0;
  for (const Rows& rows : rows_)
    if (kept > 0 && rows.first <= rows_[kept - 1].end)
      rows_[kept - 1].end = std::max(rows_[kept - 1].end, rows.end);
    else
      rows_[kept++] = rows;
  rows_.resize(kept);
}

/// True if a row of [begin, end) of the block is wanted.
bool WantedRows::has(std::uint64_t begin, std::uint64_t end) const {
  const auto next = std::upper_bound(rows_.begin(), rows_.end(), begin,
                                     [](std::uint64_t row, const Rows& rows) { return row < rows.end; });
  return next != rows_.end() && next->first < end;
}

bool WantedRows::has(const ArrayReader& reader, const Piece& piece, RowRange block) {
  const auto any_of = [&](std::uint64_t first, std::uint64_t end) {
    const std::uint64_t from = std::max(first, block.first), to = std::min(end, block.end());
    return from < to && has(from - block.first, to - block.first);
  };
  if (!any_of(piece.rows.first, piece.rows.end())) return false;
  runs_.clear();
  reader.runs(piece, runs_);
  return runs_.empty() ||
         std::ranges::any_of(runs_, [&](const PieceRun& run) { return any_of(run.first, run.first + run.count); });
}

/// An addressable array gives only the rows that are wanted, as runs with small gaps, when these are few; one that is
/// cut into pages those from the first that is wanted to the last.
Status WantedRows::locate(const ArrayReader& reader, RowRange block, std::vector<Piece>& out) const {
  const ArrayInfo& info = reader.info();
  const std::uint64_t row_bytes = std::max<std::uint64_t>(info.row_record_bytes(), 1);
  const bool sparse =
      info.chunk_shape.empty() && num_rows_ * 2 < block.count && row_bytes * block.count > kSparseGapBytes;
  if (!sparse && (info.page_rows == 0 || rows_.empty())) return reader.locate(block, out);
  const std::uint64_t gap_rows = sparse ? kSparseGapBytes / row_bytes : block.count;
  for (std::size_t i = 0; i < rows_.size();) {
    std::size_t end = i + 1;
    while (end < rows_.size() && rows_[end].first - rows_[end - 1].end <= gap_rows) ++end;
    HEADRACE_TRY(reader.locate({block.first + rows_[i].first, rows_[end - 1].end - rows_[i].first}, out));
    i = end;
  }
  return {};
}

}  // namespace headrace
