// RowSet: which rows of a whole were chosen.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace headrace {

/// Rows of [0, size_of_whole()) in ascending order: a bitmap with a running count for every 512 rows, a quarter of a
/// byte a row in all. Immutable once made. Threads: any.
class RowSet {
 public:
  /// \param rows  Ascending, each below `whole`, none twice.
  RowSet(std::uint64_t whole, std::span<const std::uint64_t> rows);
  /// \param runs  First row and end of each, ascending, apart.
  RowSet(std::uint64_t whole, std::span<const std::pair<std::uint64_t, std::uint64_t>> runs);

  [[nodiscard]] std::uint64_t size_of_whole() const { return whole_; }
  /// Return the number of chosen rows.
  [[nodiscard]] std::uint64_t size() const { return before_.back(); }
  /// Return chosen rows below `row` <= size_of_whole().
  [[nodiscard]] std::uint64_t count_below(std::uint64_t row) const;
  /// The i-th chosen row, i < size(). O(log rows).
  [[nodiscard]] std::uint64_t operator[](std::uint64_t i) const { return find(i, 0, before_.size() - 1); }
  /// Return the i-th chosen row, which is known to be in [first, end): quick for narrow ranges.
  [[nodiscard]] std::uint64_t within(std::uint64_t i, std::uint64_t first, std::uint64_t end) const {
    return find(i, first / kSpanRows, (end - 1) / kSpanRows + 1);
  }
  /// Return the chosen ones of rows [first, end), counted from `first`.
  [[nodiscard]] RowSet part(std::uint64_t first, std::uint64_t end) const;
  /// Return the words of the bitmap: row r is bit r % 64 of word r / 64.
  [[nodiscard]] std::span<const std::uint64_t> words() const { return words_; }
  [[nodiscard]] std::uint64_t memory_bytes() const { return (words_.size() + before_.size()) * sizeof(std::uint64_t); }

 private:
  void count();
  static constexpr std::uint64_t kSpanRows = 512, kSpanWords = kSpanRows / 64;
  [[nodiscard]] std::uint64_t find(std::uint64_t i, std::uint64_t first_span, std::uint64_t end_span) const;

  std::uint64_t whole_;
  std::vector<std::uint64_t> words_;   // whole spans
  std::vector<std::uint64_t> before_;  // chosen rows before each span, and all of them
};

}  // namespace headrace
