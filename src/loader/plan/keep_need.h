// What keeping decoded data takes: all rows in stores, or units one by one in what memory is left.
#pragma once

#include <cstdint>

#include "loader/plan/engine_plan.h"

namespace headrace {

/// Units that have anything to decode: blocks of the rows of the first group, or cells of volumes.
struct KeptUnits {
  std::uint64_t number = 0;
  std::uint64_t all_bytes = 0, largest_bytes = 1;  ///< As a budget counts them.
  std::uint64_t dense_bytes = 0;                   ///< Scratch of a thread for one on its way to the cache,
  std::uint64_t coded_bytes = 0;                   ///< and where it is encoded for that.
};

struct KeepNeed {
  std::uint64_t data_bytes = 0;   ///< Bytes of all rows of the blocks, or of all cells, decoded.
  std::uint64_t pages_bytes = 0;  ///< Memory of stores of all of it; 0: nothing is decoded of volumes.
  std::uint64_t dense_bytes = 0;  ///< Scratch of a thread for blocks on their way to files.
  KeptUnits units;
  /// Return true if all of it can be kept in stores: in memory, shared by a host, or in a directory.
  [[nodiscard]] bool has_stores() const { return pages_bytes > 0; }
};

/// Return what keeping takes, after the plan's layout and blocks.
KeepNeed keep_need(const SampleSource& source, const EnginePlan& plan);

/// Count the cells of all arrays of volumes. None where nothing is decoded.
KeptUnits count_kept_cells(const MappedSource& volumes);

/// Return the bytes that are decoded for a sample that is drawn at random, on average, where `waiting` samples share
/// what is decoded for them and `kept_share` of all cells is kept. docs/decisions/0028 has the formula.
double decoded_bytes_of_drawn(const MappedSource& mapped, double waiting, double kept_share);

}  // namespace headrace
