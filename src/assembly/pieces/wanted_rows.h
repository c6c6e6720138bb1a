// WantedRows: which rows of a block are wanted, and the pieces of an array that have them.
#pragma once

#include <cstdint>
#include <vector>

#include "assembly/source.h"
#include "assembly/window/wanted.h"

namespace headrace {

/// Threads: one at a time.
class WantedRows {
 public:
  void clear() { rows_.clear(), num_rows_ = 0; }
  /// Add rows of the block.
  void add(RowRange rows) { rows_.push_back({rows.first, rows.end()}), num_rows_ += rows.count; }
  /// Add all that is wanted.
  void add(const Wanted& wanted);
  /// Call it once everything is added.
  void seal();

  /// Append pieces of an array, all that have wanted rows among them. \param block  Rows of the file that the block is.
  /// Errors: as ArrayReader::locate().
  Status locate(const ArrayReader& reader, RowRange block, std::vector<Piece>& out) const;
  /// Return true if a row of the piece is wanted, of those that lie in the block.
  [[nodiscard]] bool has(const ArrayReader& reader, const Piece& piece, RowRange block);

 private:
  struct Rows {
    std::uint64_t first, end;
  };
  [[nodiscard]] bool has(std::uint64_t begin, std::uint64_t end) const;

  std::vector<Rows> rows_;      // once sealed: ascending, and none within another
  std::uint64_t num_rows_ = 0;  // that were added
  std::vector<PieceRun> runs_;  // scratch
};

}  // namespace headrace
