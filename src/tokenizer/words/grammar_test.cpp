#include "tokenizer/words/grammar.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tokenizer/words/unicode_classes.h"

namespace headrace::tokenizing {
namespace {

using Words = std::vector<std::string>;

Words words_of(Grammar grammar, const std::string& text) {
  Words words;
  const auto *p = reinterpret_cast<const std::uint8_t*>(text.data()), *end = p + text.size();
  while (p < end) {
    const std::uint8_t* after = next_word(grammar, p, end);
    words.emplace_back(reinterpret_cast<const char*>(p), static_cast<std::size_t>(after - p));
    p = after;
  }
  return words;
}

TEST(Grammar, WhitespaceGivesItsLastCharacterToWhatFollows) {
  EXPECT_EQ(words_of(Grammar::kGpt2, "a   b\n c  "), (Words{"a", "  ", " b", "\n", " c", "  "}));
  EXPECT_EQ(words_of(Grammar::kGpt2,
                     "a\xC2\xA0 b\xE3\x80\x80"
                     "c"),
            (Words{"a", "\xC2\xA0", " b", "\xE3\x80\x80", "c"}));
}

TEST(Grammar, ContractionsBeginWords) {
  EXPECT_EQ(words_of(Grammar::kGpt2, "don't 's 'sa !'s DON'T"),
            (Words{"don", "'t", " '", "s", " '", "sa", " !'", "s", " DON", "'", "T"}));
  EXPECT_EQ(words_of(Grammar::kCl100k, "don't DON'T it'\xC5\xBF"),
            (Words{"don", "'t", " DON", "'T", " it", "'\xC5\xBF"}));
}

TEST(Grammar, NumbersOfCl100kHaveThreeDigits) {
  EXPECT_EQ(words_of(Grammar::kCl100k, "12345 6"), (Words{"123", "45", " ", "6"}));
}

TEST(Grammar, SpellingsOfCl100kDifferAtTheEnd) {
  EXPECT_EQ(words_of(Grammar::kCl100k, "a!\n\n \n  "), (Words{"a", "!\n\n", " \n  "}));
  EXPECT_EQ(words_of(Grammar::kLlama3, "a!\n\n \n  "), (Words{"a", "!\n\n", " \n", "  "}));
}

TEST(Grammar, IllFormedBytesAreCharactersOfNoClass) {
  EXPECT_EQ(words_of(Grammar::kGpt2, "a\xC3 b\xF5\x80"), (Words{"a", "\xC3", " b", "\xF5\x80"}));
  EXPECT_EQ(words_of(Grammar::kGpt2, "\xED\xA0\x80!\xE2\x80"), (Words{"\xED\xA0\x80!\xE2\x80"}));
}

TEST(Grammar, PatternsAreKnownByTheirText) {
  EXPECT_EQ(grammar_of_pattern(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"),
            Grammar::kGpt2);
  EXPECT_EQ(grammar_of_pattern(R"(\s+)"), std::nullopt);
  EXPECT_EQ(grammar_named("cl100k"), Grammar::kCl100k);
  EXPECT_EQ(grammar_named("o200k"), std::nullopt);
}

TEST(UnicodeClasses, AreThoseOfOneVersion) {
  std::size_t counts[4] = {};
  for (std::uint32_t code = 0; code < 0x110000; ++code) ++counts[static_cast<std::size_t>(unicode_classes()[code])];
  EXPECT_EQ(counts[static_cast<std::size_t>(CharacterClass::kSpace)], 25u);
  EXPECT_EQ(counts[static_cast<std::size_t>(CharacterClass::kLetter)], 141028u);  // Unicode 16.0
  EXPECT_EQ(counts[static_cast<std::size_t>(CharacterClass::kNumber)], 1911u);
}

}  // namespace
}  // namespace headrace::tokenizing
