// Where words of GPT-2 begin, in masks of 64 bytes: the fast form of what grammar.cpp has.
#include "tokenizer/words/class_masks.h"

namespace headrace::tokenizing {

void find_gpt2_starts(ChunkMasks& masks) {
  ClassBits before;
  std::uint64_t others_before = 0;
  const auto begins = [](std::uint64_t bits, std::uint64_t bits_before) { return bits & ~moved_up(bits, bits_before); };
  for (std::size_t i = 0; i < masks.blocks; ++i) {
    const ClassBits& now = masks.classes[i];
    const std::uint64_t others = ~(now.letters | now.numbers | now.spaces);
    const std::uint64_t runs =
        begins(now.letters, before.letters) | begins(now.numbers, before.numbers) | begins(others, others_before);
    masks.starts[i] = (runs & ~moved_up(now.blanks, before.blanks)) | begins(now.spaces, before.spaces) |
                      (now.spaces & masks.text_follows(i));
    before = now;
    others_before = others;
  }
}

}  // namespace headrace::tokenizing
