#include <algorithm>

#include "tokenizer/words/unicode_classes.h"

namespace headrace::tokenizing {

const CharacterClass* unicode_classes() {
  static const std::vector<CharacterClass> classes = [] {
    std::vector<CharacterClass> made(0x110000, CharacterClass::kOther);
    for (const CharacterRange& range : unicode_ranges())
      std::fill(made.begin() + range.first, made.begin() + range.last + 1, range.kind);
    return made;
  }();
  return classes.data();
}

}  // namespace headrace::tokenizing
