#include "tokenizer/words/word_ends.h"

#include <algorithm>

#include "tokenizer/words/mask_words.h"

namespace headrace::tokenizing {

std::span<const std::uint32_t> find_word_ends(Grammar grammar, WordScan scan, const std::uint8_t* p,
                                              const std::uint8_t* stop, const std::uint8_t* end,
                                              std::vector<std::uint32_t>& buffer) {
  if (buffer.size() < kChunkBytes + 8) buffer.resize(kChunkBytes + 8);
  const std::size_t size = std::min(static_cast<std::size_t>(stop - p), kChunkBytes);
  std::size_t count = 0;
  if (scan == WordScan::kBest) count = mask_word_ends(grammar, p, size, p + size == stop, end, buffer.data());
  if (count == 0)
    for (const std::uint8_t* at = p; at < p + size; ++count) {
      at = next_word(grammar, at, end);
      buffer[count] = static_cast<std::uint32_t>(at - p);
    }
  return {buffer.data(), count};
}

}  // namespace headrace::tokenizing
