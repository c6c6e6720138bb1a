// Encodes arbitrary bytes, which have to come back, by masks and character by character; and reads them as files of
// vocabularies, whose added words are then looked for. The input: u8 kind (0 to 2: text in a grammar, 3:
// tokenizer.json, 4: ranks, 5: vocab.json, with merges.txt behind its first zero byte), then the bytes.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "tokenizer/added_words.h"
#include "tokenizer/testing/toy_vocabulary.h"
#include "tokenizer/vocabulary/vocabulary_text.h"
#include "tokenizer/word_encoder.h"

namespace headrace::tokenizing {
namespace {

void check_text(const WordEncoder& encoder, const Vocabulary& vocabulary, std::string_view text) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(text.data());
  const std::uint8_t* end = begin + text.size();
  LearnedWords learned;
  std::vector<std::uint32_t> ids, scalar;
  encoder.encode(begin, end, end, learned, ids);
  encoder.encode(begin, end, end, learned, scalar, WordScan::kScalar);
  std::size_t at = 0;
  for (const std::uint32_t id : ids) {
    const std::string& token = *vocabulary.tokens[id];
    if (text.compare(at, token.size(), token) != 0) std::abort();
    at += token.size();
  }
  if (ids != scalar || at != text.size()) std::abort();
}

/// Parts follow each other, added words are what they say and the longest there, and none is left in ordinary text.
void check_added(const Vocabulary& vocabulary, bool all, std::string_view text) {
  const auto words = AddedWords::make(vocabulary, {.all = all});
  if (!words.ok()) return;
  const auto* begin = reinterpret_cast<const std::uint8_t*>(text.data());
  std::vector<AddedWords::TextPart> parts;
  words->find(begin, begin + text.size(), parts);
  const std::uint8_t* at = begin;
  for (const AddedWords::TextPart& part : parts) {
    if (part.begin != at || part.end <= part.begin) std::abort();
    at = part.end;
    const std::string_view here(reinterpret_cast<const char*>(part.begin), part.end - part.begin);
    if (part.id >= 0 && here != *vocabulary.tokens.at(part.id)) std::abort();
    for (const AddedWord& word : vocabulary.added)
      if (part.id < 0 && (all || !word.special) && here.find(word.text) != std::string_view::npos) std::abort();
    const auto found = std::ranges::find(vocabulary.added, part.id, &AddedWord::id);
    if (found == vocabulary.added.end() || found->normalized) continue;
    for (const AddedWord& word : vocabulary.added)  // the longest that is here
      if ((all || !word.special) && !word.normalized && word.text.size() > here.size() &&
          text.substr(part.begin - begin).starts_with(word.text))
        std::abort();
  }
  if (at != begin + text.size()) std::abort();
}

void check_vocabulary(const Result<Vocabulary>& read) {
  if (!read.ok()) return;
  std::string text = "it's the reader of 1024 tokens\n\n  ";
  check_text(WordEncoder(*read), *read, text);
  text += '\0';
  for (std::size_t i = 0; i < std::min<std::size_t>(read->added.size(), 8); ++i)  // each inside of another as well
    text = text.substr(0, text.size() / 2) + read->added[i].text + text.substr(text.size() / 2) + read->added[i].text;
  for (const bool all : {false, true}) check_added(*read, all, text);
}

void read_input(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const int kind = data[0] % 6;
  if (kind < 3) {
    struct Toy {
      explicit Toy(Grammar grammar) : vocabulary(toy_vocabulary(grammar)), encoder(vocabulary) {}
      Vocabulary vocabulary;
      WordEncoder encoder;
    };
    static const Toy toys[] = {Toy(Grammar::kGpt2), Toy(Grammar::kCl100k), Toy(Grammar::kLlama3)};
    check_text(toys[kind].encoder, toys[kind].vocabulary, text);
  } else if (kind == 3) {
    check_vocabulary(parse_tokenizer_json(text));
  } else if (kind == 4) {
    check_vocabulary(parse_tiktoken(text, Grammar::kCl100k, {{"<|endoftext|>", 300}}));
  } else {
    const std::size_t cut = std::min(text.find('\0'), text.size());
    check_vocabulary(parse_vocab_and_merges(text.substr(0, cut), text.substr(std::min(cut + 1, text.size()))));
  }
}

}  // namespace
}  // namespace headrace::tokenizing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  headrace::tokenizing::read_input(data, size);
  return 0;
}
