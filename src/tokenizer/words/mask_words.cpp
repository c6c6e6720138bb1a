#include "tokenizer/words/mask_words.h"

#include <bit>

#include "tokenizer/words/class_masks.h"
#include "tokenizer/words/contraction.h"

namespace headrace::tokenizing {
namespace {

/// Only an apostrophe that begins a word begins a contraction: the letters belong to it, and what follows begins anew.
void find_contractions(const std::uint8_t* p, const std::uint8_t* end, bool any_case, ChunkMasks& masks) {
  for (std::size_t i = 0; i < masks.blocks; ++i) {
    const ClassBits &now = masks.classes[i], &next = masks.classes[i + 1];
    std::uint64_t some = now.apostrophes & masks.starts[i] & (now.letters >> 1 | next.letters << 63);
    for (; some != 0; some &= some - 1) {
      const std::size_t at = i * 64 + static_cast<std::size_t>(std::countr_zero(some));
      const std::size_t length = contraction(p + at, end, any_case);
      if (length == 0) continue;
      masks.starts[(at + 1) / 64] &= ~(kOne << (at + 1) % 64);
      masks.starts[(at + length) / 64] |= kOne << (at + length) % 64;
    }
  }
}

/// The last character of whitespace begins a word at its first byte, not at the last one, where it was seen to be last.
void mend_wide_spaces(ChunkMasks& masks) {
  for (std::size_t i = 0; i < masks.blocks; ++i)
    for (std::uint64_t some = masks.starts[i] & masks.classes[i].tails; some != 0; some &= some - 1) {
      std::size_t at = i * 64 + static_cast<std::size_t>(std::countr_zero(some));
      masks.starts[i] &= ~(some & -some);
      while ((masks.classes[at / 64].tails >> at % 64 & 1) != 0) --at;
      masks.starts[at / 64] |= kOne << at % 64;
    }
}

}  // namespace

std::size_t mask_word_ends(Grammar grammar, const std::uint8_t* p, std::size_t size, bool whole,
                           const std::uint8_t* end, std::uint32_t* ends) {
  static thread_local ChunkMasks masks;
  const std::size_t blocks = (size + 63) / 64;
  classify(p, blocks, end, masks);
  if (grammar == Grammar::kGpt2) {
    find_gpt2_starts(masks);
  } else {
    find_cl100k_starts(grammar == Grammar::kCl100k, masks);
  }
  masks.starts[blocks] = 0;
  masks.starts[0] |= kOne;
  find_contractions(p, end, grammar != Grammar::kGpt2, masks);
  if (masks.has_wide_spaces) mend_wide_spaces(masks);
  if (size % 64 != 0) masks.starts[blocks - 1] &= (kOne << size % 64) - 1;
  masks.starts[0] &= ~kOne;
  std::uint32_t* out = ends;
  for (std::size_t i = 0; i < blocks; ++i)
    for (std::uint64_t starts = masks.starts[i]; starts != 0; starts &= starts - 1)
      *out++ = static_cast<std::uint32_t>(i * 64) + static_cast<std::uint32_t>(std::countr_zero(starts));
  if (whole && !masks.is_open) *out++ = static_cast<std::uint32_t>(size);
  return static_cast<std::size_t>(out - ends);
}

}  // namespace headrace::tokenizing
