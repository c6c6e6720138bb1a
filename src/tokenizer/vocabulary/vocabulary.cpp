#include "tokenizer/vocabulary/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "tokenizer/word_table.h"

namespace headrace::tokenizing {
namespace {

/// Two lanes of 64 bits; files that are made to have the same hash may.
class TextHash {
 public:
  void add(std::uint64_t number) {
    for (std::uint64_t& lane : lanes_) {
      lane = (lane ^ number) * 0x9E3779B97F4A7C15ull;
      lane ^= lane >> 29;
    }
    lanes_[1] += lanes_[0] >> 7;
  }
  void add(std::string_view text) {
    add(text.size());
    for (const char c : text) add(static_cast<std::uint8_t>(c));
  }
  [[nodiscard]] std::string hex() const { return fmt::format("{:016x}{:016x}", lanes_[0], lanes_[1]); }

 private:
  std::uint64_t lanes_[2] = {0x243F6A8885A308D3ull, 0x13198A2E03707344ull};
};

Status place_token(Vocabulary& vocabulary, const std::string& bytes, std::uint32_t id) {
  if (id >= kMostIds)
    return Error(ErrorCode::kUnsupported, fmt::format("id {} is above the largest that is taken, 2^24 - 1", id));
  // A table by id: one far beyond the others would take its memory for nothing.
  constexpr std::size_t kHoles = std::size_t{1} << 20;
  if (const std::size_t words = vocabulary.ids.size() + vocabulary.added.size(); id >= kHoles + 4 * words)
    return Error(ErrorCode::kUnsupported, fmt::format("id {} is far beyond its {} words", id, words));
  if (vocabulary.tokens.size() <= id) vocabulary.tokens.resize(id + 1);
  std::optional<std::string>& token = vocabulary.tokens[id];
  if (token && *token != bytes)
    return Error(ErrorCode::kCorruptData, fmt::format("two words share id {}: \"{}\" and \"{}\"", id, *token, bytes));
  token = bytes;
  return {};
}

std::string hash_of(const Vocabulary& vocabulary, const std::vector<NamedMerge>& merges) {
  TextHash hash;
  hash.add(to_string(vocabulary.grammar));
  hash.add(vocabulary.whole_words ? 1 : 0);
  for (const auto& token : vocabulary.tokens) token ? hash.add(*token) : hash.add(~std::uint64_t{0});
  std::vector<NamedMerge> sorted = merges;
  std::sort(sorted.begin(), sorted.end(), [](const NamedMerge& a, const NamedMerge& b) {
    return std::tie(a.merge.rank, a.left, a.right) < std::tie(b.merge.rank, b.left, b.right);
  });
  for (const NamedMerge& one : sorted) {
    hash.add(one.left);
    hash.add(one.right);
    hash.add(one.merge.result);
  }
  for (const AddedWord& word : vocabulary.added) {
    hash.add(word.text);
    hash.add(word.id);
    hash.add((word.special ? 1 : 0) + (word.normalized ? 2 : 0));
  }
  return hash.hex();
}

}  // namespace

Status complete(Vocabulary& vocabulary, const std::vector<NamedMerge>& merges) {
  for (const auto& [bytes, id] : vocabulary.ids) HEADRACE_TRY(place_token(vocabulary, bytes, id));
  std::unordered_map<std::string_view, std::size_t> by_text;
  std::unordered_map<std::uint32_t, std::size_t> by_id;
  for (std::size_t i = 0; i < vocabulary.added.size(); ++i) {
    const AddedWord& word = vocabulary.added[i];
    if (word.text.empty()) return Error(ErrorCode::kCorruptData, fmt::format("added word {} is empty", i));
    const std::size_t same =
        std::min(by_text.try_emplace(word.text, i).first->second, by_id.try_emplace(word.id, i).first->second);
    if (same != i)
      return Error(ErrorCode::kCorruptData, fmt::format("two added words, \"{}\" and \"{}\", share a text or id {}",
                                                        vocabulary.added[same].text, word.text, word.id));
    HEADRACE_TRY(place_token(vocabulary, word.text, word.id));
  }
  for (int byte = 0; byte < 256; ++byte) {
    const auto found = vocabulary.ids.find(std::string(1, static_cast<char>(byte)));
    if (found == vocabulary.ids.end())
      return Error(ErrorCode::kUnsupported, fmt::format("byte {:#04x} has no token, so some text would be lost", byte))
          .with_hint("Only byte-level BPE is read, whose vocabulary has all 256 bytes.");
    vocabulary.byte_ids[static_cast<std::size_t>(byte)] = found->second;
  }
  vocabulary.pairs = PairTable(merges.size());
  for (const NamedMerge& one : merges) vocabulary.pairs.put(one.left, one.right, one.merge);
  vocabulary.hash = hash_of(vocabulary, merges);
  return {};
}

}  // namespace headrace::tokenizing
