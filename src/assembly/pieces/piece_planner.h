// PiecePlanner: which pieces of a block's arrays have to be decoded for the rows that are wanted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "assembly/block_layout.h"
#include "assembly/fetched_pieces.h"
#include "assembly/pieces/wanted_rows.h"
#include "assembly/source.h"
#include "assembly/window/request_window.h"
#include "assembly/window/wanted.h"

namespace headrace {

/// A piece of an array of the block's file.
struct PieceTask {
  std::uint32_t array;
  Piece piece;
};

/// Threads: one.
class PiecePlanner {
 public:
  PiecePlanner(const Source& source, const BlockLayout& layout) : source_(source), layout_(layout) {}

  /// Plan block rows `rows` of a file. \param whole  Every row will be wanted later. \param apart  Pieces of straddling
  /// arrays go to side_tasks(). Arrays that cannot be located are added to `failures`. \param fetched  What is known
  /// of the block already; null: nothing.
  void plan(std::uint32_t file, RowRange rows, const Wanted& wanted, bool whole, bool apart,
            const FetchedPieces* fetched, std::vector<RowFailure>& failures);
  [[nodiscard]] std::span<const PieceTask> tasks() const { return tasks_; }
  [[nodiscard]] std::span<const PieceTask> side_tasks() const { return side_tasks_; }
  /// Return the decoded bytes of the block's rows in all pieces that it needs, wanted now or not.
  [[nodiscard]] std::uint64_t needed_bytes() const { return needed_bytes_; }

 private:
  const Source& source_;
  const BlockLayout& layout_;
  std::vector<PieceTask> tasks_, side_tasks_;
  std::vector<Piece> pieces_;
  WantedRows wanted_rows_;
  std::uint64_t needed_bytes_ = 0;
};

}  // namespace headrace
