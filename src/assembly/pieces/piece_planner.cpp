#include "assembly/pieces/piece_planner.h"

#include <algorithm>

namespace headrace {
namespace {

constexpr std::uint64_t kSparseGapBytes = 64 << 10;  // rows nearer than this are read together

}  // namespace

void PiecePlanner::list_wanted_rows(const Wanted& wanted) {
  wanted_rows_.clear();
  for (const Move& m : wanted.moves) wanted_rows_.push_back({m.row, std::uint64_t{m.row} + m.count});
  for (const Request& r : wanted.requests) wanted_rows_.push_back({r.item, std::uint64_t{r.item} + 1});
  if (wanted.moves.empty())  // moves ascend already
    std::sort(wanted_rows_.begin(), wanted_rows_.end(), [](const Rows& a, const Rows& b) { return a.first < b.first; });
  // Overlapping runs are joined, so that their ends ascend as well.
  std::size_t kept = 0;
  for (const Rows& rows : wanted_rows_)
    if (kept > 0 && rows.first <= wanted_rows_[kept - 1].end)
      wanted_rows_[kept - 1].end = std::max(wanted_rows_[kept - 1].end, rows.end);
    else
      wanted_rows_[kept++] = rows;
  wanted_rows_.resize(kept);
}

/// True if a row of [begin, end) of the block is wanted.
bool PiecePlanner::is_wanted(std::uint64_t begin, std::uint64_t end) const {
  const auto next = std::upper_bound(wanted_rows_.begin(), wanted_rows_.end(), begin,
                                     [](std::uint64_t row, const Rows& rows) { return row < rows.end; });
  return next != wanted_rows_.end() && next->first < end;
}

/// True if a row of the piece is wanted, of those that lie in the block.
bool PiecePlanner::is_wanted(const ArrayReader& reader, const Piece& piece, RowRange block) {
  const auto any_of = [&](std::uint64_t first, std::uint64_t end) {
    const std::uint64_t from = std::max(first, block.first), to = std::min(end, block.end());
    return from < to && is_wanted(from - block.first, to - block.first);
  };
  if (!any_of(piece.rows.first, piece.rows.end())) return false;
  runs_.clear();
  reader.runs(piece, runs_);
  return runs_.empty() ||
         std::ranges::any_of(runs_, [&](const PieceRun& run) { return any_of(run.first, run.first + run.count); });
}

/// Rows of an addressable array, when few of the block's rows are wanted: only those, as runs with small gaps.
Status PiecePlanner::locate_wanted(const ArrayReader& reader, RowRange rows) {
  const std::uint64_t gap_rows = kSparseGapBytes / std::max<std::uint64_t>(reader.info().row_record_bytes(), 1);
  for (std::size_t i = 0; i < wanted_rows_.size();) {
    std::size_t end = i + 1;
    while (end < wanted_rows_.size() && wanted_rows_[end].first - wanted_rows_[end - 1].end <= gap_rows) ++end;
    const std::uint64_t first = wanted_rows_[i].first, last = wanted_rows_[end - 1].end;
    HEADRACE_TRY(reader.locate({rows.first + first, last - first}, pieces_));
    i = end;
  }
  return {};
}

void PiecePlanner::plan(std::uint32_t file_number, RowRange rows, const Wanted& wanted, bool whole, bool apart,
                        const FetchedPieces* fetched, std::vector<RowFailure>& failures) {
  const SourceFile& file = source_.files[file_number];
  tasks_.clear();
  side_tasks_.clear();
  needed_bytes_ = 0;
  const std::uint64_t num_wanted = wanted.num_rows();
  const bool some = num_wanted < rows.count && !whole;
  if (some) list_wanted_rows(wanted);
  for (std::uint32_t a = 0; a < file.arrays.size(); ++a) {
    const ArrayRole role = layout_.files[file_number].roles[a];
    if (role == ArrayRole::kResident) continue;
    std::vector<PieceTask>& tasks = role == ArrayRole::kStraddling && apart ? side_tasks_ : tasks_;
    const ArrayReader& reader = *file.arrays[a];
    pieces_.clear();
    const bool sparse = some && reader.info().chunk_shape.empty() && num_wanted * 2 < rows.count &&
                        reader.info().row_record_bytes() * rows.count > kSparseGapBytes;
    const bool in_parts = reader.info().page_rows > 0;  // then pieces have the rows asked for and no others
    RowRange asked = rows;
    if (in_parts && some && !wanted_rows_.empty())
      asked = {rows.first + wanted_rows_.front().first, wanted_rows_.back().end - wanted_rows_.front().first};
    const std::vector<Piece>* const known = fetched ? fetched->of(a) : nullptr;
    Status located;
    if (known)
      pieces_ = *known;
    else
      located = sparse ? locate_wanted(reader, rows) : reader.locate(asked, pieces_);
    if (!located.ok()) {
      failures.push_back({{0, rows.count}, located.error()});
      continue;
    }
    if (in_parts) needed_bytes_ += rows.count * reader.info().row_record_bytes();
    for (const Piece& p : pieces_) {
      if (p.rows.count == 0) continue;
      const std::uint64_t begin = std::max(p.rows.first, rows.first), end = std::min(p.rows.end(), rows.end());
      if (!in_parts)
        needed_bytes_ += end - begin == p.rows.count ? p.decoded_bytes : p.decoded_bytes / p.rows.count * (end - begin);
      if (some && !is_wanted(reader, p, rows)) continue;
      tasks.push_back({a, p});
    }
  }
}

}  // namespace headrace
