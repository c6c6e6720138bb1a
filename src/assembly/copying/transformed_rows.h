// Rows that are transformed while they are copied.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "assembly/copying/sink.h"
#include "base/random/divisor.h"
#include "transform/row_program.h"

namespace headrace {

/// A column whose rows become rows of a slot's arrays.
struct TransformedRows {
  const RowProgram& program;
  const FieldRows& from;      ///< Whole rows, dense or not.
  std::size_t row_bytes;      ///< As stored, dense.
  std::size_t array;          ///< Array of the slot: its addresses tell which row went where.
  const Divisor& made_bytes;  ///< Bytes of a row of that array.
  std::size_t alignment = 8;  ///< Bytes that rows are to be aligned to.
};

/// As Sink::put().
SinkWork put_transformed(const TransformedRows& job, std::uint64_t first_row, const Wanted& wanted);

/// As Sink::gather(), for this column alone. \return The hash of the copies.
std::uint64_t gather_transformed(const TransformedRows& job, std::span<const std::uint64_t> rows,
                                 std::span<const std::uint64_t> distances, std::uint64_t first_place, const RowRun& to,
                                 std::vector<RowFailure>& failures);

}  // namespace headrace
