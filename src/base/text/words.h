// Words of enums: one table for each, which every face reads and writes by: run files, the command line, Python,
// errors, recipes. A table stands beside its enum, and is found by it:
//
//   inline constexpr Word<Tail> kTailWords[] = {{"partial", Tail::kPartial}, {"drop", Tail::kDrop}, {"pad",
//   Tail::kPad}}; constexpr std::span<const Word<Tail>> words_of(Tail) { return kTailWords; }
//
// Recipes hold the place of a word in its table: words are only appended.
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

template <class E>
struct Word {
  std::string_view word;
  E value;
};

/// An enum with a table of words.
template <class E>
concept Worded = requires(E e) {
  { words_of(e) } -> std::convertible_to<std::span<const Word<E>>>;
};

/// Return the word of a value; the first one where several mean the same.
template <Worded E>
constexpr std::string_view word_of(E value) {
  for (const Word<E>& one : words_of(value))
    if (one.value == value) return one.word;
  return "?";
}

/// Return the value that a word means; nullopt: there is no such word.
template <Worded E>
constexpr std::optional<E> value_of_word(std::string_view word) {
  for (const Word<E>& one : words_of(E{}))
    if (one.word == word) return one.value;
  return std::nullopt;
}

/// Return all words of a table.
template <class E>
std::vector<std::string> all_words(std::span<const Word<E>> table) {
  std::vector<std::string> words;
  for (const Word<E>& one : table) words.emplace_back(one.word);
  return words;
}

/// Return words as a sentence has them: "partial, drop or pad".
inline std::string one_of_words(std::span<const std::string> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return text;
}

}  // namespace headrace
