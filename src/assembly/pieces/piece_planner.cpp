#include "assembly/pieces/piece_planner.h"

#include <algorithm>

namespace headrace {

void PiecePlanner::plan(std::uint32_t file_number, RowRange rows, const Wanted& wanted, bool whole, bool apart,
                        const FetchedPieces* fetched, std::vector<RowFailure>& failures) {
  const SourceFile& file = source_.files[file_number];
  tasks_.clear();
  side_tasks_.clear();
  needed_bytes_ = 0;
  const std::uint64_t num_wanted = wanted.num_rows();
  const bool some = num_wanted < rows.count && !whole;
  if (some) {
    wanted_rows_.clear();
    wanted_rows_.add(wanted);
    wanted_rows_.seal();
  }
  for (std::uint32_t a = 0; a < file.arrays.size(); ++a) {
    const ArrayRole role = layout_.files[file_number].roles[a];
    if (role == ArrayRole::kResident) continue;
    std::vector<PieceTask>& tasks = role == ArrayRole::kStraddling && apart ? side_tasks_ : tasks_;
    const ArrayReader& reader = *file.arrays[a];
    pieces_.clear();
    const bool in_parts = reader.info().page_rows > 0;  // then pieces have the rows asked for and no others
    const std::vector<Piece>* const known = fetched ? fetched->of(a) : nullptr;
    Status located;
    if (known)
      pieces_ = *known;
    else
      located = some ? wanted_rows_.locate(reader, rows, pieces_) : reader.locate(rows, pieces_);
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
      if (some && !wanted_rows_.has(reader, p, rows)) continue;
      tasks.push_back({a, p});
    }
  }
}

}  // namespace headrace
