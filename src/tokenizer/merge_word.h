// A word → its tokens, by merging: what tables of words remember.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tokenizer/pair_table.h"

namespace headrace::tokenizing {

/// Merges words: of all neighbours the pair of lowest rank becomes one, the leftmost first, until none merges.
/// Threads: all members from any thread.
class WordMerger {
 public:
  /// \param ids  The tokens, by their bytes. \param pairs  Has to outlive it.
  WordMerger(const std::array<std::uint32_t, 256>& byte_ids, const PairTable& pairs,
             const std::unordered_map<std::string, std::uint32_t>& ids);

  /// Merge a word. The time grows with n log n, also where a word is a million bytes long.
  /// \param out  The tokens are put at its end.
  void merge(std::span<const std::uint8_t> word, std::vector<std::uint32_t>& out) const;

 private:
  struct BytePair {
    Merge merge = {};
    bool in_token = false;  ///< Some token has the two side by side. Where none has, no merge goes over that place.
  };
  [[nodiscard]] const BytePair& pair(const std::uint8_t* p) const { return byte_pairs_[std::size_t{p[0]} << 8 | p[1]]; }
  void merge_part(std::span<const std::uint8_t> part, std::vector<std::uint32_t>& out) const;

  std::array<std::uint32_t, 256> byte_ids_;
  const PairTable& pairs_;
  std::vector<BytePair> byte_pairs_;
};

}  // namespace headrace::tokenizing
