// A vocabulary small enough to be read, and text that scanners find hard, for tests.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tokenizer/vocabulary/vocabulary.h"

namespace headrace::tokenizing {

/// Return all bytes and some words, as tokenizer.json has them: ids are in the order of merges.
Vocabulary toy_vocabulary(Grammar grammar);

/// Return pieces of text: words, contractions, whitespace of all kinds, scripts, ill-formed UTF-8.
const std::vector<std::string>& hard_fragments();

/// Return fragments in any order. \param kinds  So many of the first fragments.
std::string hard_text(std::mt19937& draw, std::size_t bytes, std::size_t kinds);

}  // namespace headrace::tokenizing
