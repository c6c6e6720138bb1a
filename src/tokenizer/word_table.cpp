#include "tokenizer/word_table.h"

#include <algorithm>

namespace headrace::tokenizing {

std::uint32_t* WordTable::copy_elsewhere(const WordEntry& entry, std::uint32_t* out) const {
  return std::copy_n(elsewhere_.data() + entry.tokens[1], entry.tokens[2], out);
}

void WordTable::put(const WordKey& key, std::span<const std::uint32_t> tokens) {
  if (words_ >= most_words_) {
    std::fill(entries_.begin(), entries_.end(), WordEntry{});
    elsewhere_.clear();
    words_ = 0;
  }
  if ((words_ + 1) * 2 > entries_.size()) grow();
  WordEntry& entry = entries_[place(key, key.hash())];
  if (entry.key == WordKey{}) ++words_;
  entry = {key, {}};
  if (tokens.size() <= 4) {
    std::copy(tokens.begin(), tokens.end(), entry.tokens);
    entry.tokens[0] |= static_cast<std::uint32_t>(tokens.size()) << 24;
    return;
  }
  entry.tokens[0] = WordEntry::kElsewhere << 24;
  entry.tokens[1] = static_cast<std::uint32_t>(elsewhere_.size());
  entry.tokens[2] = static_cast<std::uint32_t>(tokens.size());
  elsewhere_.insert(elsewhere_.end(), tokens.begin(), tokens.end());
}

void WordTable::grow() {
  std::vector<WordEntry> old(entries_.size() * 2);
  old.swap(entries_);
  for (const WordEntry& entry : old)
    if (entry.key.high != 0) entries_[place(entry.key, entry.key.hash())] = entry;
}

}  // namespace headrace::tokenizing
