// Sink: the one place that moves rows into batches.
//
// Rows come from four sources: a chunk that was just decoded, a block that is kept decoded, a block that is kept
// encoded (piece by piece), and a store of all rows. Each says where its rows lie and which rows they are (RowsAt); the
// sink copies what is wanted of them, with streaming stores where that pays, and adds to the batch's digest what the
// addresses of the copies say was copied. The kernel is chosen once a source and field, never a row.
#pragma once

#include "catalog/stored_column.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "assembly/window/copy_digest.h"
#include "assembly/window/wanted.h"
#include "assembly/window/window_slot.h"
#include "catalog/row_geometry.h"
#include "format/format_reader.h"
#include "transform/program.h"

namespace headrace {

/// Rows of one field as a source has them.
struct FieldRows {
  RowsAt rows;
  const RowGeometry* geometry = nullptr;  ///< How a row lies in the source; null: dense, as in a batch.
  std::uint64_t weight = 1;               ///< What a row's hash counts for: see piece_weight().
  bool counts_rows = false;               ///< Add the rows' numbers to the digest's sums: once a row, not once a field.
  /// Which rows there are, if not `rows.count` one behind the other: see run_at(). `rows.first_row` is the number of
  /// row 0 of the array then. What is wanted must be moves.
  std::span<const PieceRun> runs = {};
  bool repeated = false;  ///< All rows of a run are the one at its index.

  /// Return the rows of a run.
  [[nodiscard]] RowsAt run_at(const PieceRun& run) const {
    return {rows.data + run.index * rows.stride_bytes, repeated ? 0 : rows.stride_bytes, rows.first_row + run.first,
            run.count};
  }
};

/// What Sink::put() did.
struct SinkWork {
  std::uint64_t written_bytes = 0;
  std::uint64_t requests_scanned = 0;     ///< Requests or moves that were compared with the source's rows.
  std::vector<RowFailure> failures = {};  ///< Rows that a transform could not take, by Request::item.
};

/// Immutable. Threads: any. Rows of no bytes (a shape with a 0 in it) have no address; they count as asked for.
class Sink {
 public:
  /// \param program  Transforms that go with the copies of some columns, and where the others go; null: each to the
  /// array of its number. \param first_column  Number that the first of `columns` has among those of the program.
  explicit Sink(const std::vector<StoredColumn>& columns, std::shared_ptr<const Program> program = {},
                std::size_t first_column = 0);

  /// Return true if the rows of this column are transformed while they are copied: they must come whole.
  [[nodiscard]] bool transforms(std::size_t field) const { return row_program(field) != nullptr; }

  /// Copy the rows of `wanted` that lie in `from` to their places. \param first_row  Number of row 0 of the requests.
  /// Call finish_streaming() before another thread is told.
  SinkWork put(std::size_t field, const FieldRows& from, std::uint64_t first_row, const Wanted& wanted) const;

  /// Copy rows[i] of every field, counted from the store's first, to place first_place + i of `to`. The rows may lie
  /// anywhere: they are asked for well ahead. \param from  One for each field, all of the same rows, dense. \param
  /// distances  What the number of each row is above the one that `from` says; empty: nothing.
  /// \return Rows that a transform could not take, by place.
  std::vector<RowFailure> gather(std::span<const RowsAt> from, std::span<const std::uint64_t> rows,
                                 std::span<const std::uint64_t> distances, std::uint64_t first_place,
                                 const RowRun& to) const;

 private:
  [[nodiscard]] const RowProgram* row_program(std::size_t field) const {
    return program_ ? program_->target(first_column_ + field).row : nullptr;
  }
  [[nodiscard]] std::size_t array_of(std::size_t field) const {
    return program_ ? program_->target(first_column_ + field).array : field;
  }

  const std::shared_ptr<const Program> program_;
  const std::size_t first_column_;
  std::vector<Divisor> row_bytes_;       // of at least 1 byte
  std::vector<bool> empty_;              // rows of no bytes
  std::vector<Divisor> made_bytes_;      // of the array that a column goes to
  std::vector<std::size_t> alignments_;  // that transforms need of a column's rows
};

}  // namespace headrace
