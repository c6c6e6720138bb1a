// A word → its tokens, by merging: what caches of words remember.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tokenizer/pair_table.h"

namespace headrace::tokenizing {

/// Merge a word: of all neighbours the pair of lowest rank becomes one, the leftmost first, until none merges. The time
/// grows with n log n, also where a word is a million bytes long.
/// \param out  The tokens are put at its end.
void merge_word(const std::array<std::uint32_t, 256>& byte_ids, const PairTable& pairs,
                std::span<const std::uint8_t> word, std::vector<std::uint32_t>& out);

}  // namespace headrace::tokenizing
