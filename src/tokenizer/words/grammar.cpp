#include "tokenizer/words/grammar.h"

#include "tokenizer/words/character.h"
#include "tokenizer/words/contraction.h"

namespace headrace::tokenizing {
namespace {

using enum CharacterClass;
using Bytes = const std::uint8_t*;

bool is_newline(std::uint8_t byte) {
  return byte == '\n' || byte == '\r';
}

/// Goes over characters of one class.
Bytes after_run(const CharacterClass* classes, CharacterClass kind, Bytes p, Bytes end) {
  while (p < end) {
    const Character next = character_at(classes, p, end);
    if (next.kind != kind) break;
    p += next.bytes;
  }
  return p;
}

/// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
Bytes next_gpt2(const CharacterClass* classes, Bytes p, Bytes end) {
  if (*p == '\'') {
    if (const std::uint32_t length = contraction(p, end, false)) return p + length;
  }
  Character first = character_at(classes, p, end);
  if (first.kind == kSpace) {
    Bytes last = p, q = p + first.bytes;
    while (q < end) {
      const Character next = character_at(classes, q, end);
      if (next.kind != kSpace) break;
      last = q;
      q += next.bytes;
    }
    if (q == end) return q;      // at the end of the text a run is one word
    if (last != p) return last;  // \s+(?!\S) gives its last character back
    if (*p != ' ') return q;
    p = q;  // a single space belongs to what follows it
    first = character_at(classes, p, end);
  }
  return after_run(classes, first.kind, p + first.bytes, end);
}

/// Whitespace of cl100k: \s++$ (tiktoken only), \s*[\r\n]+, \s+(?!\S), \s
Bytes after_space(const CharacterClass* classes, bool whole_at_end, Bytes p, Bytes end) {
  Bytes last = p, after_newline = nullptr, q = p;
  while (q < end) {
    const Character next = character_at(classes, q, end);
    if (next.kind != kSpace) break;
    last = q;
    q += next.bytes;
    if (is_newline(*last)) after_newline = q;
  }
  if (q == end && whole_at_end) return q;
  if (after_newline != nullptr) return after_newline;
  return q == end || last == p ? q : last;
}

/// '(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+| and whitespace
Bytes next_cl100k(const CharacterClass* classes, bool whole_at_end, Bytes p, Bytes end) {
  if (*p == '\'') {
    if (const std::uint32_t length = contraction(p, end, true)) return p + length;
  }
  const Character first = character_at(classes, p, end);
  Bytes q = p + first.bytes;
  if (first.kind == kLetter) return after_run(classes, kLetter, q, end);
  if (first.kind == kNumber) {
    for (int digits = 1; digits < 3 && q < end; ++digits) {
      const Character next = character_at(classes, q, end);
      if (next.kind != kNumber) break;
      q += next.bytes;
    }
    return q;
  }
  const CharacterClass second = q < end ? character_at(classes, q, end).kind : kSpace;
  if (second == kLetter && !is_newline(*p)) return after_run(classes, kLetter, q, end);
  if (first.kind == kOther || (*p == ' ' && second == kOther)) {
    q = after_run(classes, kOther, q, end);
    while (q < end && is_newline(*q)) ++q;
    return q;
  }
  return after_space(classes, whole_at_end, p, end);
}

struct Spelling {
  Grammar grammar;
  std::string_view pattern;
};
constexpr Spelling kSpellings[] = {
    {Grammar::kGpt2, R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"},
    {Grammar::kGpt2, R"('s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"},
    {Grammar::kGpt2, R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"},
    {Grammar::kGpt2, R"('(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s)"},
    {Grammar::kCl100k,
     R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s)"},
    {Grammar::kLlama3,
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
};

}  // namespace

std::string_view to_string(Grammar grammar) {
  return grammar == Grammar::kGpt2 ? "gpt2" : grammar == Grammar::kCl100k ? "cl100k" : "llama3";
}

std::optional<Grammar> grammar_named(std::string_view name) {
  for (const Grammar grammar : {Grammar::kGpt2, Grammar::kCl100k, Grammar::kLlama3})
    if (to_string(grammar) == name) return grammar;
  return std::nullopt;
}

std::optional<Grammar> grammar_of_pattern(std::string_view pattern) {
  for (const Spelling& spelling : kSpellings)
    if (spelling.pattern == pattern) return spelling.grammar;
  return std::nullopt;
}

const std::uint8_t* next_word(Grammar grammar, const std::uint8_t* p, const std::uint8_t* end) {
  const CharacterClass* classes = unicode_classes();
  if (grammar == Grammar::kGpt2) return next_gpt2(classes, p, end);
  return next_cl100k(classes, grammar == Grammar::kCl100k, p, end);
}

bool is_word_start(const std::uint8_t* p, const std::uint8_t* end) {
  if (p[-1] == '\n') return character_at(unicode_classes(), p, end).kind != kSpace;
  // Newlines may belong to punctuation before them, other whitespace only to what follows.
  return (p[0] == ' ' || p[0] == '\t') && p[-1] < 0x80 && unicode_classes()[p[-1]] != kSpace;
}

}  // namespace headrace::tokenizing
