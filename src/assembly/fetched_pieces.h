// FetchedPieces: what was located and read of a unit before a decode thread asked for it.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "format/format_reader.h"

namespace headrace {

/// Immutable once made.
struct FetchedPieces {
  /// The pieces of each array that hold the unit's rows, or its cell, as its reader located them; the bytes of each are
  /// in memory (HeldBytes). Nullopt: the array has to be asked.
  std::vector<std::optional<std::vector<Piece>>> arrays;

  /// Return the pieces of an array; null: the array has to be asked.
  [[nodiscard]] const std::vector<Piece>* of(std::size_t array) const {
    return array < arrays.size() && arrays[array] ? &*arrays[array] : nullptr;
  }
};

}  // namespace headrace
