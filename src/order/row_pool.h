// RowPool: the rows of some blocks in a random order, in far less memory than a list of them.
//
// What is shuffled are the numbers of the pool's rows; which block a number means follows from where the blocks' rows
// begin. Up to 2^16 rows their numbers are listed, in two bytes each. Larger pools, of small rows, list nothing: their
// order is computed (base/random/keyed_permutation.h). Which of the two it is follows from the number of rows alone,
// never from the machine or its memory, as it is part of what a seed means.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/random/divisor.h"
#include "base/random/keyed_permutation.h"
#include "base/random/philox.h"
#include "catalog/sample_ref.h"

namespace headrace {

/// Filled with parts of blocks, shuffled, taken from the front. Not thread-safe.
class RowPool {
 public:
  struct BlockPart {
    std::uint32_t block, first_row, rows;
  };
  /// Rows of the largest pool that lists them.
  static constexpr std::uint64_t kListedRows = std::uint64_t{1} << 16;

  /// Start anew, empty, with room for so many parts.
  void clear(std::uint64_t parts);
  void add(BlockPart part);
  /// Put the rows that were added into an order that depends on their number and `key` only.
  void shuffle(RandomKey key);
  /// Return how many rows are left to take.
  [[nodiscard]] std::uint64_t left() const { return rows_ - taken_; }
  /// Write the next `count` <= left() rows to `out`.
  void take(std::uint64_t count, SampleRef* out);

  /// Pass by the next `count` <= left() rows, and append how many there are of each block. What it takes does not grow
  /// with `count`.
  void skip(std::uint64_t count, std::vector<BlockRows>& out);

  /// Return what a pool of at most so many rows and parts allocates.
  [[nodiscard]] static std::uint64_t max_bytes(std::uint64_t rows, std::uint64_t parts);

 private:
  /// What makes a row of the pool the sample that it is: its block, and what to add to its number, modulo 2^32.
  struct RowShift {
    std::uint32_t block, shift;
    [[nodiscard]] SampleRef of(std::uint64_t row) const { return {block, shift + static_cast<std::uint32_t>(row)}; }
  };
  void note_equal_parts();
  /// Return in which part a row of the pool is.
  [[nodiscard]] std::size_t part_of(std::uint64_t row) const {
    return equal_rows_ ? equal_rows_->divide(row + first_lacks_).quotient : search(row);
  }
  [[nodiscard]] std::size_t search(std::uint64_t row) const;
  void take_listed(SampleRef* out, std::uint64_t count) const;

  std::vector<std::uint64_t> starts_;  ///< Row of the pool with which each part begins, and their number.
  std::vector<RowShift> places_;       ///< One for each part.
  std::vector<std::uint16_t> listed_;
  std::optional<KeyedPermutation> computed_;
  std::uint64_t rows_ = 0, taken_ = 0;
  std::optional<Divisor> equal_rows_;  ///< Rows of a part, where all have as many but the first and the last.
  std::uint64_t first_lacks_ = 0;      ///< How many rows fewer the first part has.
  std::uint64_t listed_factor_ = 0;    ///< Divides listed rows by those of a part: see note_equal_parts().
};

}  // namespace headrace
