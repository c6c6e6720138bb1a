#include "tokenizer/word_encoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tokenizer/testing/toy_vocabulary.h"
#include "tokenizer/text_jobs.h"
#include "tokenizer/words/unicode_classes.h"

namespace headrace::tokenizing {
namespace {

using Ids = std::vector<std::uint32_t>;
constexpr Grammar kGrammars[] = {Grammar::kGpt2, Grammar::kCl100k, Grammar::kLlama3};

const std::uint8_t* start_of(const std::string& text) {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}

/// Word for word, without masks, tables or cuts.
Ids plainly(const WordEncoder& encoder, Grammar grammar, const std::string& text) {
  Ids ids;
  const std::uint8_t *p = start_of(text), *end = p + text.size();
  while (p < end) {
    const std::uint8_t* word_end = next_word(grammar, p, end);
    encoder.encode_word({p, static_cast<std::size_t>(word_end - p)}, ids);
    p = word_end;
  }
  return ids;
}

std::string decoded(const Vocabulary& vocabulary, const Ids& ids) {
  std::string text;
  for (const std::uint32_t id : ids) text += *vocabulary.tokens[id];
  return text;
}

/// A copy at the end of its allocation, so that a sanitizer sees a byte read too many.
struct Tight {
  explicit Tight(const std::string& text) : bytes(new std::uint8_t[text.size()]), end(bytes.get() + text.size()) {
    std::copy(text.begin(), text.end(), bytes.get());
  }
  std::unique_ptr<std::uint8_t[]> bytes;
  std::uint8_t* end;
};

TEST(WordEncoder, MasksTablesAndCutsChangeNothing) {
  std::mt19937 draw(1);
  for (const Grammar grammar : kGrammars) {
    const Vocabulary vocabulary = toy_vocabulary(grammar);
    const WordEncoder encoder(vocabulary);
    LearnedWords with_masks, without;
    for (int round = 0; round < 1500; ++round) {
      const std::size_t kinds = round % 3 == 0 ? 99 : round % 3 == 1 ? 39 : 22;  // with odd whitespace, without, ASCII
      const std::string text = hard_text(draw, round % 100 == 99 ? 50'000 : 1 + draw() % 700, kinds);
      const Tight tight(text);
      const Ids want = plainly(encoder, grammar, text);
      Ids masks, scalar, cut;
      encoder.encode(tight.bytes.get(), tight.end, tight.end, with_masks, masks);
      encoder.encode(tight.bytes.get(), tight.end, tight.end, without, scalar, WordScan::kScalar);
      const std::string_view view(reinterpret_cast<const char*>(tight.bytes.get()), text.size());
      const AddedWords none = AddedWords::make(vocabulary, {}).value();
      for (const TextPiece& piece : divide_texts({&view, 1}, none, 1 + draw() % 90).pieces)
        encoder.encode(piece.begin, piece.stop, piece.end, with_masks, cut);
      ASSERT_EQ(masks, want) << to_string(grammar) << " round " << round;
      ASSERT_EQ(scalar, want) << to_string(grammar) << " round " << round;
      ASSERT_EQ(cut, want) << to_string(grammar) << " round " << round;
      ASSERT_EQ(decoded(vocabulary, want), text);
    }
  }
}

TEST(WordEnds, MasksFindTheWordsOfTheGrammarAtEveryPlaceOfABlock) {
  std::vector<std::string> pieces = hard_fragments();
  for (const char* more :
       {"\r", " \n", "\n ", "  \n  ", "\v", "'S", "'Re", "!!", "12", "345", "\xE1\x9A\x80", "\xE5\x80", "\xD0\x8F",
        "\xE9\xBF\xBF", "\xEC\x80\x80", "\xF0\x9F\x98\x80", "\xD9\xA3\xD9\xA3", "\xE0\xA4\xBF"})
    pieces.emplace_back(more);
  std::mt19937 draw(4);
  std::vector<std::uint32_t> masks, scalar;
  for (int round = 0; round < 4000; ++round) {
    std::string odd;
    for (std::size_t i = 0; i < 5; ++i) odd += pieces[draw() % pieces.size()];
    const char filler = "a1! \n\t"[draw() % 6];
    const std::size_t before = draw() % 2 == 0 ? 52 + draw() % 14 : 116 + draw() % 14;
    const Tight tight(std::string(before, filler) + odd + std::string(draw() % 3 == 0 ? 0 : draw() % 140, filler));
    for (const Grammar grammar : kGrammars) {
      std::vector<std::uint32_t> found;
      for (const std::uint8_t* p = tight.bytes.get(); p < tight.end;) {
        const auto ends = find_word_ends(grammar, WordScan::kBest, p, tight.end, tight.end, masks);
        for (const std::uint32_t end : ends) found.push_back(static_cast<std::uint32_t>(p - tight.bytes.get()) + end);
        p += ends.back();
      }
      const auto want = find_word_ends(grammar, WordScan::kScalar, tight.bytes.get(), tight.end, tight.end, scalar);
      ASSERT_TRUE(std::ranges::equal(found, want)) << to_string(grammar) << " round " << round;
    }
  }
}

TEST(WordEnds, WordsEndBeforeAPlaceWhereOneBegins) {
  std::vector<std::uint32_t> buffer, scalar;
  for (const Grammar grammar : kGrammars)
    for (std::size_t before = 50; before < 66; ++before) {
      const Tight tight(std::string(before, 'a') + "\n   \n    b'll 12345!\n\n x");
      const std::uint8_t* p = tight.bytes.get();
      const auto want = find_word_ends(grammar, WordScan::kScalar, p, tight.end, tight.end, scalar);
      for (std::size_t i = 0; i < want.size(); ++i) {
        std::vector<std::uint32_t> found;
        for (std::uint32_t at = 0; at < want[i]; at = found.back()) {
          const std::uint32_t from = at;
          for (const std::uint32_t end :
               find_word_ends(grammar, WordScan::kBest, p + at, p + want[i], tight.end, buffer))
            found.push_back(from + end);
        }
        ASSERT_TRUE(std::ranges::equal(found, want.first(i + 1))) << to_string(grammar) << " " << before << " " << i;
      }
    }
}

TEST(WordEnds, MasksFindTheWordsOfTheGrammarWhereChunksEnd) {
  std::mt19937 draw(5);
  std::vector<std::uint32_t> buffer;
  for (const std::size_t long_run : {std::size_t{0}, std::size_t{40}, kChunkBytes - 70, kChunkBytes + 100})
    for (int round = 0; round < 40; ++round) {
      std::string text = hard_text(draw, kChunkBytes - 200 + draw() % 100, 99);
      text += hard_fragments()[draw() % hard_fragments().size()];
      text += std::string(long_run, " a1!\n"[draw() % 5]) + "\n" + std::string(draw() % 3 * 60, ' ');
      text += hard_text(draw, 400 + draw() % 64, 99);
      const Tight tight(text);
      for (const Grammar grammar : kGrammars) {
        std::vector<const std::uint8_t*> found, want;
        for (const std::uint8_t* p = tight.bytes.get(); p < tight.end; p = found.back()) {
          const std::uint8_t* from = p;
          for (const std::uint32_t end : find_word_ends(grammar, WordScan::kBest, p, tight.end, tight.end, buffer))
            found.push_back(from + end);
        }
        for (const std::uint8_t* p = tight.bytes.get(); p < tight.end; p = want.back())
          want.push_back(next_word(grammar, p, tight.end));
        const auto differ = std::ranges::mismatch(found, want).in1;
        ASSERT_TRUE(found == want) << to_string(grammar) << ", a run of " << long_run << ", at byte "
                                   << differ[-1] - tight.bytes.get() << " of " << ::testing::PrintToString(text);
      }
    }
}

TEST(ClassMasks, CharactersThatAreLettersByTheirFirstByteAreLetters) {
  for (const auto& [first, last] : {std::pair{0x400u, 0x47Fu}, {0x5000u, 0x9FFFu}, {0xB000u, 0xCFFFu}})
    for (std::uint32_t code = first; code <= last; ++code)
      ASSERT_EQ(unicode_classes()[code], CharacterClass::kLetter) << std::hex << code;
}

TEST(WordEncoder, LongWordsTakeAboutLinearTimeAndAreMergedAlike) {
  const Vocabulary vocabulary = toy_vocabulary(Grammar::kGpt2);
  const WordEncoder encoder(vocabulary);
  LearnedWords learned;
  const std::string text(1'000'003, 'a');
  Ids ids;
  encoder.encode(start_of(text), start_of(text) + text.size(), start_of(text) + text.size(), learned, ids);
  EXPECT_EQ(ids.size(), 250'002u);  // aaaa …, then aa and a
  EXPECT_EQ(decoded(vocabulary, ids), text);
}

TEST(WordEncoder, LongAndShortWordsAreMergedAlike) {
  const Vocabulary vocabulary = toy_vocabulary(Grammar::kGpt2);
  const WordEncoder encoder(vocabulary);
  std::mt19937 draw(2);
  for (int round = 0; round < 300; ++round) {
    std::string word;
    while (word.size() < 65) word += hard_fragments()[draw() % 20];
    Ids together, simple;
    encoder.encode_word({start_of(word), word.size()}, together);
    for (const char c : word) simple.push_back(vocabulary.byte_ids[static_cast<std::uint8_t>(c)]);
    while (true) {  // the definition
      std::size_t best = 0;
      Merge lowest;
      for (std::size_t i = 0; i + 1 < simple.size(); ++i)
        if (const Merge merge = vocabulary.pairs.find(simple[i], simple[i + 1]); merge.rank < lowest.rank)
          lowest = merge, best = i;
      if (lowest.rank == kNoRank) break;
      simple[best] = lowest.result;
      simple.erase(simple.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
    ASSERT_EQ(together, simple) << word;
  }
}

TEST(WordEncoder, AnEntryThatMergesDoNotReachIsWhatTheyMakeOfIt) {
  Vocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte)
    vocabulary.ids[std::string(1, static_cast<char>(byte))] = static_cast<std::uint32_t>(byte);
  vocabulary.ids["lost"] = 256;
  complete(vocabulary, {}).value();
  const std::string text = "lost";
  const auto encoded = [&] {
    LearnedWords learned;
    Ids ids;
    WordEncoder(vocabulary).encode(start_of(text), start_of(text) + 4, start_of(text) + 4, learned, ids);
    return ids;
  };
  EXPECT_EQ(encoded(), (Ids{'l', 'o', 's', 't'}));
  vocabulary.whole_words = true;  // as ranks and ignore_merges have it
  EXPECT_EQ(encoded(), Ids{256});
}

TEST(WordTable, KeepsWordsOfAllLengthsUntilItIsFull) {
  WordTable table(4, 3000);
  std::vector<std::pair<std::string, Ids>> kept;
  std::mt19937 draw(3);
  for (std::uint32_t i = 0; !table.full(); ++i) {
    std::string word = std::to_string(i);
    word.append(draw() % 4 == 0 ? draw() % 500 : draw() % 12, 'x');
    kept.emplace_back(word, Ids(draw() % 9, i));
    const WordKey key = word_key(start_of(word), word.size(), word.size());
    ASSERT_EQ(table.find(key, key.hash()), nullptr);
    table.put(key, {start_of(word), word.size()}, kept.back().second);
  }
  EXPECT_EQ(table.words(), 3000u);
  const WordTable copied = table.copy();
  for (const auto& [word, tokens] : kept)
    for (const WordTable* each : {&std::as_const(table), &copied}) {
      const WordKey key = word_key(start_of(word), word.size(), word.size());
      const WordEntry* entry = each->find(key, key.hash());
      ASSERT_NE(entry, nullptr);
      EXPECT_TRUE(each->is_word(*entry, {start_of(word), word.size()}));
      Ids found(16);
      found.resize(static_cast<std::size_t>(each->copy(*entry, found.data()) - found.data()));
      ASSERT_EQ(found, tokens);
    }
}

TEST(WordTable, TellsLongWordsOfOneKeyApart) {
  WordTable table(4);
  const std::string word(20, 'a'), other(20, 'b'), shorter(19, 'a');
  const WordKey key = word_key(start_of(word), word.size(), word.size());
  table.put(key, {start_of(word), word.size()}, Ids{1});
  const WordEntry* entry = table.find(key, key.hash());
  ASSERT_NE(entry, nullptr);
  EXPECT_TRUE(table.is_word(*entry, {start_of(word), word.size()}));
  EXPECT_FALSE(table.is_word(*entry, {start_of(other), other.size()}));
  EXPECT_FALSE(table.is_word(*entry, {start_of(shorter), shorter.size()}));
}

}  // namespace
}  // namespace headrace::tokenizing
