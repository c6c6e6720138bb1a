// The order's first samples replayed: what is decoded for them with a window and a cache of some size beside it.
#pragma once

#include <cstdint>
#include <vector>

#include "assembly/mapped_source.h"
#include "loader/plan/engine_plan.h"

namespace headrace {

/// The cells of the first samples of an epoch, as they are needed. Immutable.
class CellReplay {
 public:
  /// Look at some thousand samples (a few milliseconds). \param plan  Its order and its boxes.
  CellReplay(const MappedSource& mapped, const EnginePlan& plan);

  /// Return the bytes that are decoded for a sample, on average, if cells are decoded for all samples of `slots` slots
  /// that need them, and those that are used soonest are kept in `cache_bytes`.
  [[nodiscard]] double decoded_bytes(std::uint64_t slots, std::uint64_t cache_bytes) const;

 private:
  struct Cell {
    std::uint64_t bytes = 0;           ///< As they are kept.
    std::vector<std::uint32_t> users;  ///< Samples that need it, ascending.
  };
  std::uint64_t batch_ = 1, samples_ = 0;
  std::vector<Cell> cells_;
  std::vector<std::vector<std::uint32_t>> needs_;  // cells of each sample
};

}  // namespace headrace
