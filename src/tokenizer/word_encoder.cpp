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
    : vocabulary_(vocabulary), frozen_(std::bit_ceil(vocabulary.ids.size() * 3 + 64), ~std::size_t{0}) {
  std::vector<std::uint32_t> tokens;
  for (const auto& [bytes, id] : vocabulary.ids) {
    if (bytes.empty() || bytes.size() > kShortWordBytes) continue;
    tokens.clear();
    encode_word({bytes_of(bytes), bytes.size()}, tokens);
    frozen_.put(word_key(bytes_of(bytes), bytes.size(), bytes.size()), tokens);
  }
}

void WordEncoder::encode_word(std::span<const std::uint8_t> word, std::vector<std::uint32_t>& out) const {
  if (vocabulary_.whole_words) {
    const auto found = vocabulary_.ids.find(std::string(word.begin(), word.end()));
    if (found != vocabulary_.ids.end()) {
      out.push_back(found->second);
      return;
    }
  }
  merge_word(vocabulary_.byte_ids, vocabulary_.pairs, word, out);
}

std::uint32_t* WordEncoder::look_further(const std::uint8_t* p, std::size_t size, const WordKey& key,
                                         LearnedWords& learned, std::uint32_t* out) const {
  const std::string_view word(reinterpret_cast<const char*>(p), size);
  if (size > kShortWordBytes) {
    if (const auto* tokens = learned.long_words.find(word)) return std::copy(tokens->begin(), tokens->end(), out);
  } else if (const WordEntry* entry = learned.words.find(key, key.hash())) {
    return learned.words.copy(*entry, out);
  }
  learned.merged.clear();
  encode_word({p, size}, learned.merged);
  if (size > kShortWordBytes) {
    learned.long_words.put(word, learned.merged);
  } else {
    learned.words.put(key, learned.merged);
  }
  return std::copy(learned.merged.begin(), learned.merged.end(), out);
}

std::uint32_t* WordEncoder::encode_chunk(const std::uint8_t* p, const std::uint8_t* end, LearnedWords& learned,
                                         std::uint32_t* out) const {
  const std::vector<std::uint32_t>& ends = learned.ends;
  WordKey keys[kTogether];
  std::uint64_t hashes[kTogether];
  const WordEntry* entries[kTogether];
  std::uint32_t begin = 0;
  for (std::size_t first = 0; first < ends.size(); first += kTogether) {
    const std::size_t count = std::min(kTogether, ends.size() - first);
    std::uint32_t at = begin;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t size = ends[first + i] - at;
      const std::uint32_t kept = size > kShortWordBytes ? 0 : size;  // no word has the key of no bytes
      keys[i] = word_key(p + at, kept, static_cast<std::size_t>(end - (p + at)));
      hashes[i] = keys[i].hash();
      __builtin_prefetch(&frozen_.first(hashes[i]));
      at = ends[first + i];
    }
    for (std::size_t i = 0; i < count; ++i) {
      entries[i] = frozen_.find(keys[i], hashes[i]);
      if (entries[i] == nullptr) __builtin_prefetch(&learned.words.first(hashes[i]));
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t word_end = ends[first + i];
      if (const WordEntry* entry = entries[i]; entry != nullptr && keys[i].high != 0) [[likely]] {
        out = frozen_.copy(*entry, out);
      } else {
        out = look_further(p + begin, word_end - begin, keys[i], learned, out);
      }
      begin = word_end;
    }
  }
  return out;
}

void WordEncoder::encode(const std::uint8_t* p, const std::uint8_t* stop, const std::uint8_t* end,
                         LearnedWords& learned, std::vector<std::uint32_t>& out, WordScan scan) const {
  while (p < stop) {
    find_word_ends(vocabulary_.grammar, scan, p, stop, end, learned.ends);
    const std::size_t bytes = learned.ends.back();
    if (learned.tokens.size() < bytes + 4) learned.tokens.resize(bytes + 4);  // a token has a byte at least
    const std::uint32_t* last = encode_chunk(p, end, learned, learned.tokens.data());
    out.insert(out.end(), static_cast<const std::uint32_t*>(learned.tokens.data()), last);
    p += bytes;
  }
}

}  // namespace headrace::tokenizing
