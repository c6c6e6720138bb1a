#include "tokenizer/added_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace headrace::tokenizing {
namespace {

std::uint8_t first_byte(const AddedWord& word) {
  return static_cast<std::uint8_t>(word.text[0]);
}

/// tiktoken takes any of two words that begin at one place, whichever its table has first.
Status refuse_overlaps(const std::vector<AddedWord>& words) {
  for (const AddedWord& a : words)
    for (const AddedWord& b : words)
      if (&a != &b && b.text.starts_with(a.text))
        return Error(ErrorCode::kUnsupported,
                     fmt::format("\"{}\" begins with \"{}\", and ranks do not say which of two "
                                 "special words is found",
                                 b.text, a.text))
            .with_hint("Allow one of them.");
  return {};
}

}  // namespace

Result<AddedWords> AddedWords::make(const Vocabulary& vocabulary, const SpecialWords& wanted) {
  for (const std::string& text : wanted.some)
    if (std::none_of(vocabulary.added.begin(), vocabulary.added.end(), [&](const auto& w) { return w.text == text; }))
      return Error(ErrorCode::kInvalidArgument, fmt::format("\"{}\" is no special word of this tokenizer", text));
  AddedWords found;
  for (const AddedWord& word : vocabulary.added) {
    const bool asked_for =
        wanted.all || std::find(wanted.some.begin(), wanted.some.end(), word.text) != wanted.some.end();
    if (word.special && !asked_for) continue;
    if (!word.trait.empty())
      return Error(ErrorCode::kUnsupported, fmt::format("\"{}\" has {}, which is not supported", word.text, word.trait))
          .with_hint("Allow the others by name.");
    found.passes_[word.normalized ? 1 : 0].words.push_back(word);
  }
  if (vocabulary.overlaps_are_open) HEADRACE_TRY(refuse_overlaps(found.passes_[0].words));
  for (Pass& pass : found.passes_) index(pass);
  return found;
}

void AddedWords::index(Pass& pass) {
  std::sort(pass.words.begin(), pass.words.end(), [](const AddedWord& a, const AddedWord& b) {
    if (first_byte(a) != first_byte(b)) return first_byte(a) < first_byte(b);
    return a.text.size() > b.text.size();
  });
  for (const AddedWord& word : pass.words) ++pass.first[std::size_t{first_byte(word)} + 1];
  for (std::size_t i = 1; i < pass.first.size(); ++i) pass.first[i] += pass.first[i - 1];
}

template <class Ordinary>
void AddedWords::find_in(const Pass& pass, const std::uint8_t* begin, const std::uint8_t* end,
                         std::vector<TextPart>& parts, const Ordinary& ordinary) {
  const std::uint8_t* from = begin;
  for (const std::uint8_t* p = begin; p < end;) {
    const AddedWord* here = nullptr;
    for (std::uint32_t i = pass.first[*p]; here == nullptr && i < pass.first[std::size_t{*p} + 1]; ++i) {
      const std::string& text = pass.words[i].text;
      if (text.size() <= static_cast<std::size_t>(end - p) && std::memcmp(text.data(), p, text.size()) == 0)
        here = &pass.words[i];
    }
    if (here == nullptr) {
      ++p;
      continue;
    }
    if (from < p) ordinary(from, p);
    parts.push_back({p, p + here->text.size(), here->id});
    p += here->text.size();
    from = p;
  }
  if (from < end) ordinary(from, end);
}

void AddedWords::find(const std::uint8_t* begin, const std::uint8_t* end, std::vector<TextPart>& parts) const {
  const auto keep = [&](const std::uint8_t* from, const std::uint8_t* to) { parts.push_back({from, to, -1}); };
  find_in(passes_[0], begin, end, parts, [&](const std::uint8_t* from, const std::uint8_t* to) {
    passes_[1].words.empty() ? keep(from, to) : find_in(passes_[1], from, to, parts, keep);
  });
}

}  // namespace headrace::tokenizing
