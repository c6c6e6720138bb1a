// Grammars: how tokenizers divide text into words, before any merge. Each is what a known regular expression matches.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace headrace::tokenizing {

enum class Grammar : std::uint8_t {
  kGpt2,    ///< GPT-2, r50k_base, p50k_base, and `ByteLevel` of tokenizers.
  kCl100k,  ///< cl100k_base as tiktoken has it: whitespace at the end of a text is one word.
  kLlama3,  ///< The spelling in files of tokenizers, as Llama 3 has it: there it ends after its last newline.
};

/// Return the name of a grammar: "gpt2", "cl100k" or "llama3".
std::string_view to_string(Grammar grammar);
/// Return the grammar of that name; nullopt: there is none.
std::optional<Grammar> grammar_named(std::string_view name);
/// Return the grammar of a regular expression, in one of the spellings that files have; nullopt: it is none of ours.
std::optional<Grammar> grammar_of_pattern(std::string_view pattern);

/// Return the end of the word that begins at `p`, which is before `end`. `end` is where the text ends.
const std::uint8_t* next_word(Grammar grammar, const std::uint8_t* p, const std::uint8_t* end);

/// Return true if a word begins at `p` in every grammar, whatever else is before and behind. \param p  Not the first
/// byte of a text, nor `end`, where it ends.
bool is_word_start(const std::uint8_t* p, const std::uint8_t* end);

}  // namespace headrace::tokenizing
