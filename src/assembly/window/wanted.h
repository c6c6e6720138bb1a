// What is wanted of a block, and where it goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "assembly/window/copy_digest.h"
#include "catalog/row_digest.h"

namespace headrace {

/// A row that some batch wants.
struct Request {
  std::uint32_t item;      ///< Row in the block; the number of a part where samples are mapped to parts.
  std::uint32_t position;  ///< In the batch.
};

/// Consecutive rows of a block that go to consecutive places of one field buffer.
struct Move {
  std::uint32_t row = 0, count = 1;  ///< In the block.
  std::uint64_t place = 0;           ///< Row of the field's buffer.
  std::uint32_t run = 0;             ///< Which RowRun they belong to.
};

/// The requests that go to one batch.
struct RowRun {
  std::byte* const* fields;           ///< Row 0 of each array of the slot.
  std::uint32_t begin, end;           ///< In the requests.
  std::uint64_t first_position = 0;   ///< Number of place 0, for the digest: of the batch's first sample in the epoch.
  RowDigest* digest = nullptr;        ///< What was put in place is added to it; null: it is not asked for.
  std::uint64_t seed = 0, epoch = 0;  ///< For random transforms.
};

/// Either single rows, run by run, or moves by ascending row.
struct Wanted {
  std::span<const Request> requests;
  std::span<const Move> moves;
  std::span<const RowRun> runs;
  std::uint32_t longest_move = 1;  ///< Rows of the longest of `moves`.

  /// Return an upper bound of the rows wanted: exact where no row is wanted twice.
  [[nodiscard]] std::uint64_t num_rows() const {
    std::uint64_t rows = requests.size();
    for (const Move& m : moves) rows += m.count;
    return rows;
  }
  /// Add the numbers of the rows to the sums of each digest, which tell whether every row came once. Not of mapped
  /// samples, whose rows may come any number of times.
  bool counts_rows = true;
};

/// Return the moves that may touch rows of `source`. \param first_row  Number of row 0 of the moves.
std::span<const Move> moves_near(const Wanted& wanted, const RowsAt& source, std::uint64_t first_row);

}  // namespace headrace
