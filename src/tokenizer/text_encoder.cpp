// TextEncoder: texts one after the other, and where a long one may be divided.
#include <fmt/format.h>

#include <algorithm>

#include "tokenizer/added_words.h"
#include "tokenizer/tokenizer_impl.h"
#include "tokenizer/words/character.h"

namespace headrace {

using namespace tokenizing;  // NOLINT(google-build-using-namespace): the layer's own

struct TextEncoder::Impl {
  std::shared_ptr<const Tokenizer::Impl> tokenizer;
  AddedWords added;
  std::unique_ptr<LearnedWords> learned;
  bool has_words_over_cuts = false;
  std::vector<AddedWords::TextPart> parts = {};

  ~Impl() {
    if (learned) tokenizer->give(std::move(learned));
  }
};

namespace {

/// How far back a cut is looked for.
constexpr std::size_t kSearchBytes = std::size_t{1} << 20;

bool is_space(char byte) {
  return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/// True if whitespace follows something else within the word: a cut there would divide it.
bool goes_over_cuts(const std::string& word) {
  for (std::size_t i = 1; i < word.size(); ++i)
    if (is_space(word[i]) && !is_space(word[i - 1])) return true;
  return false;
}

/// Return the class of the character that ends before `at`; whitespace where bytes are ill-formed, before which nothing
/// is divided.
CharacterClass class_before(std::string_view text, std::size_t at) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  for (std::size_t size = 1; size <= std::min<std::size_t>(4, at); ++size) {
    const Character character = character_at(unicode_classes(), bytes + at - size, bytes + at);
    if (character.bytes == size && (size > 1 || bytes[at - 1] < 0x80)) return character.kind;
  }
  return CharacterClass::kSpace;
}

/// Whitespace behind something else begins a word, or goes to the word behind it, but for newlines, which belong to
/// punctuation in the grammars of cl100k and Llama 3.
bool may_cut(Grammar grammar, std::string_view text, std::size_t at) {
  if (!is_space(text[at])) return false;
  const CharacterClass before = class_before(text, at);
  if (before == CharacterClass::kSpace) return false;
  const bool is_newline = text[at] == '\n' || text[at] == '\r';
  return !is_newline || grammar == Grammar::kGpt2 || before != CharacterClass::kOther;
}

}  // namespace

TextEncoder::TextEncoder(const Tokenizer& tokenizer, const EncodeOptions& options) : impl_(std::make_unique<Impl>()) {
  impl_->tokenizer = tokenizer.impl_;
  impl_->added = AddedWords::make(tokenizer.impl_->vocabulary, {options.all_special, options.special}).value();
  impl_->has_words_over_cuts = std::ranges::any_of(tokenizer.impl_->vocabulary.added, goes_over_cuts, &AddedWord::text);
  impl_->learned = tokenizer.impl_->take();
}

TextEncoder::~TextEncoder() = default;
TextEncoder::TextEncoder(TextEncoder&&) noexcept = default;
TextEncoder& TextEncoder::operator=(TextEncoder&&) noexcept = default;

std::size_t TextEncoder::limit_memory(std::size_t bytes) {
  impl_->learned->most_bytes = bytes;
  if (impl_->learned->words.bytes() > bytes) impl_->learned->words = {};  // what others have learned before
  return impl_->tokenizer->encoder.least_bytes();
}

void TextEncoder::encode(std::string_view text, std::vector<std::uint32_t>& ids) {
  if (text.size() > kMostTextBytes)
    throw Error(ErrorCode::kInvalidArgument, fmt::format("a text has {} bytes", text.size()))
        .with_hint("Divide it: a text is shorter than 4 GiB.");
  if (text.empty()) return;
  const auto* begin = reinterpret_cast<const std::uint8_t*>(text.data());
  const std::uint8_t* end = begin + text.size();
  const WordEncoder& encoder = impl_->tokenizer->encoder;
  if (impl_->added.empty()) return encoder.encode(begin, end, end, *impl_->learned, ids);
  impl_->parts.clear();
  impl_->added.find(begin, end, impl_->parts);
  for (const AddedWords::TextPart& part : impl_->parts) {
    if (part.id >= 0) {
      ids.push_back(static_cast<std::uint32_t>(part.id));
    } else {
      encoder.encode(part.begin, part.end, part.end, *impl_->learned, ids);
    }
  }
}

std::size_t TextEncoder::last_cut(std::string_view text) const {
  if (impl_->has_words_over_cuts || text.empty()) return 0;
  const std::size_t first = text.size() > kSearchBytes ? text.size() - kSearchBytes : 0;
  for (std::size_t at = text.size() - 1; at > first; --at)
    if (may_cut(impl_->tokenizer->vocabulary.grammar, text, at)) return at;
  return 0;
}

}  // namespace headrace
