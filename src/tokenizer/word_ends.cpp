#include "tokenizer/word_ends.h"

#include <algorithm>

#include "tokenizer/gpt2_masks.h"

namespace headrace::tokenizing {

void find_word_ends(Grammar grammar, WordScan scan, const std::uint8_t* p, const std::uint8_t* stop,
                    const std::uint8_t* end, std::vector<std::uint32_t>& ends) {
  ends.clear();
  std::size_t size = std::min(static_cast<std::size_t>(stop - p), kChunkBytes);
  bool whole = p + size == stop;
  for (std::size_t cut = size; !whole && cut > kChunkBytes / 2; --cut) {
    if (!is_word_start(p + cut)) continue;
    size = cut;
    whole = true;
  }
  if (whole && scan == WordScan::kBest && grammar == Grammar::kGpt2 && gpt2_word_ends(p, size, end, ends)) return;
  const std::uint8_t* at = p;
  while (at < p + size) {
    at = next_word(grammar, at, end);
    ends.push_back(static_cast<std::uint32_t>(at - p));
  }
}

}  // namespace headrace::tokenizing
