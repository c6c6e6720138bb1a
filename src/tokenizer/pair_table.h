// Merges: which two neighbouring tokens become which token, and which merge comes first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headrace::tokenizing {

inline constexpr std::uint32_t kNoRank = ~std::uint32_t{0};

struct Merge {
  std::uint32_t rank = kNoRank;  ///< The lowest goes first; kNoRank: they do not merge.
  std::uint32_t result = 0;
};

/// A table of merges. Most questions are about pairs that do not merge, so a third of it is filled at most.
class PairTable {
 public:
  explicit PairTable(std::size_t merges = 0) {
    std::size_t slots = 64;
    while (slots < merges * 3) slots *= 2;
    slots_.resize(slots);
  }
  /// Keep a merge; a later one takes an earlier one's place. There may be as many as the table was made for.
  void put(std::uint32_t left, std::uint32_t right, Merge merge) {
    Slot& slot = slots_[place(key_of(left, right))];
    slot = {key_of(left, right), merge};
  }
  [[nodiscard]] Merge find(std::uint32_t left, std::uint32_t right) const {
    return slots_[place(key_of(left, right))].merge;
  }

 private:
  struct Slot {
    std::uint64_t key = ~std::uint64_t{0};
    Merge merge = {};
  };
  static std::uint64_t key_of(std::uint32_t left, std::uint32_t right) { return std::uint64_t{left} << 32 | right; }
  [[nodiscard]] std::size_t place(std::uint64_t key) const {
    std::size_t i = (key * 0x9E3779B97F4A7C15ull >> 32) & (slots_.size() - 1);
    while (slots_[i].key != key && slots_[i].key != ~std::uint64_t{0}) i = (i + 1) & (slots_.size() - 1);
    return i;
  }
  std::vector<Slot> slots_;
};

}  // namespace headrace::tokenizing
