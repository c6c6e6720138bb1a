#include "tokenizer/word_encoder.h"

#include <algorithm>
#include <bit>

#include "tokenizer/merge_word.h"

namespace headrace::tokenizing {
namespace {

/// Words whose entries are asked for together, before the first is read.
constexpr std::size_t kTogether = 64;

const std::uint8_t* bytes_of(const std::string& text) {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}

}  // namespace

WordEncoder::WordEncoder(const Vocabulary& vocabulary)
    : vocabulary_(vocabulary),
      merger_(vocabulary.byte_ids, vocabulary.pairs, vocabulary.ids),
      first_words_(vocabulary.ids.size()) {
  std::vector<std::pair<std::uint32_t, std::span<const std::uint8_t>>> words;  // by id: the first ones are met most
  for (const auto& [bytes, id] : vocabulary.ids)
    if (!bytes.empty() && bytes.size() <= kMostWordBytes)
      words.emplace_back(id, std::span(bytes_of(bytes), bytes.size()));
  std::ranges::sort(words, {}, [](const auto& word) { return word.first; });
  std::vector<std::uint32_t> tokens;
  for (const auto& [id, word] : words) {
    const WordKey key = word_key(word.data(), word.size(), word.size());
    if (first_words_.find(key, key.hash()) != nullptr) continue;
    tokens.clear();
    encode_word(word, tokens);
    first_words_.put(key, word, tokens);
  }
  first_words_.leave_room();  // a table that is full from the start would be made anew for each word
}

void WordEncoder::encode_word(std::span<const std::uint8_t> word, std::vector<std::uint32_t>& out) const {
  if (vocabulary_.whole_words) {
    const auto found = vocabulary_.ids.find(std::string(word.begin(), word.end()));
    if (found != vocabulary_.ids.end()) {
      out.push_back(found->second);
      return;
    }
  }
  merger_.merge(word, out);
}

void WordEncoder::begin(LearnedWords& learned) const {
  learned.words = {};  // before there is another
  learned.words = first_words_.copy();
  if (learned.most_bytes < LearnedWords::kUsualBytes) learned.words.limit(learned.most_bytes);
}

std::uint32_t* WordEncoder::look_further(std::span<const std::uint8_t> word, const WordKey& key, std::uint64_t hash,
                                         LearnedWords& learned, std::uint32_t* out) const {
  const WordEntry* entry = learned.words.find(key, hash);
  if (entry != nullptr && learned.words.is_word(*entry, word)) return learned.words.copy(*entry, out);
  learned.merged.clear();
  encode_word(word, learned.merged);
  if (entry == nullptr && word.size() <= kMostWordBytes) {
    if (learned.words.full()) begin(learned);
    learned.words.put(key, word, learned.merged);
  }
  return std::copy(learned.merged.begin(), learned.merged.end(), out);
}

std::uint32_t* WordEncoder::encode_chunk(const std::uint8_t* p, const std::uint8_t* end,
                                         std::span<const std::uint32_t> ends, LearnedWords& learned,
                                         std::uint32_t* out) const {
  const WordLine* lines = learned.words.lines();
  std::size_t mask = learned.words.mask();
  WordKey keys[kTogether];
  std::uint64_t hashes[kTogether];
  std::uint32_t begin = 0;
  for (std::size_t first = 0; first < ends.size(); first += kTogether) {
    const std::span<const std::uint32_t> some = ends.subspan(first, std::min(kTogether, ends.size() - first));
    std::uint32_t at = begin;
    for (std::size_t i = 0; i < some.size(); ++i) {
      keys[i] = word_key(p + at, some[i] - at, static_cast<std::size_t>(end - (p + at)));
      hashes[i] = keys[i].hash();
      __builtin_prefetch(&lines[hashes[i] & mask]);
      at = some[i];
    }
    for (std::size_t i = 0; i < some.size(); ++i) {
      const WordLine& line = lines[hashes[i] & mask];
      const WordEntry& entry = line.entries[line.entries[1].key == keys[i] ? 1 : 0];
      const std::uint32_t count = entry.count();
      if (entry.key == keys[i] && count != WordEntry::kElsewhere) [[likely]] {
        std::memcpy(out, entry.tokens, sizeof(entry.tokens));
        out[0] &= kMostIds - 1;
        out += count;
      } else {
        out = look_further({p + begin, some[i] - begin}, keys[i], hashes[i], learned, out);
        lines = learned.words.lines();  // which may have grown
        mask = learned.words.mask();
      }
      begin = some[i];
    }
  }
  return out;
}

void WordEncoder::encode(const std::uint8_t* p, const std::uint8_t* stop, const std::uint8_t* end,
                         LearnedWords& learned, std::vector<std::uint32_t>& out, WordScan scan) const {
  if (learned.words.empty()) begin(learned);
  while (p < stop) {
    const std::span ends = find_word_ends(vocabulary_.grammar, scan, p, stop, end, learned.ends);
    const std::size_t bytes = ends.back();
    if (learned.tokens.size() < bytes + 4) learned.tokens.resize(bytes + 4);  // a token has a byte at least
    const std::uint32_t* last = encode_chunk(p, end, ends, learned, learned.tokens.data());
    out.insert(out.end(), static_cast<const std::uint32_t*>(learned.tokens.data()), last);
    p += bytes;
  }
}

}  // namespace headrace::tokenizing
