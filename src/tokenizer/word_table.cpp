#include "tokenizer/word_table.h"

#include <algorithm>
#include <bit>

namespace headrace::tokenizing {
namespace {

constexpr std::size_t kSpare = 4;

}  // namespace

WordTable::WordTable(std::size_t words, std::size_t most_words) : most_words_(most_words), elsewhere_(kSpare) {
  allocate(std::bit_ceil(words + 8));
}

void WordTable::allocate(std::size_t lines) {
  memory_ = PageBuffer::allocate(lines * sizeof(WordLine)).value();
  lines_ = reinterpret_cast<WordLine*>(memory_.data());
  mask_ = lines - 1;
}

WordTable WordTable::copy() const {
  WordTable made;
  made.allocate(mask_ + 1);
  std::copy_n(memory_.data(), memory_.size_bytes(), made.memory_.data());
  made.words_ = words_;
  made.most_words_ = most_words_;
  made.most_elsewhere_ = most_elsewhere_;
  made.elsewhere_ = elsewhere_;
  return made;
}

std::size_t WordTable::least_bytes() const {
  const std::size_t lines = std::bit_ceil(words_ + words_ / 4 + 8);
  return lines * sizeof(WordLine) * 3 / 2 + 2 * elsewhere_.size() * sizeof(std::uint32_t);
}

void WordTable::limit(std::size_t bytes) {
  const std::size_t spare = bytes - std::min(bytes, least_bytes());
  // What is spare goes to both, as in a table without a limit; a table that grows holds the old one, too.
  const std::size_t more_lines = spare / 2 / (sizeof(WordLine) * 3 / 2), least = words_ + words_ / 4 + 8;
  most_words_ = std::min(most_words_, std::max(least, std::bit_floor(std::bit_ceil(least) + more_lines)));
  most_elsewhere_ = std::min(most_elsewhere_, 2 * elsewhere_.size() + spare / 4 / sizeof(std::uint32_t));
}

void WordTable::put(const WordKey& key, std::span<const std::uint8_t> word, std::span<const std::uint32_t> tokens) {
  if (words_ >= mask_ + 1) grow();  // half of the entries
  ++words_;
  WordEntry& entry = *slot(key, key.hash());
  entry.key = key;
  const bool is_long = word.size() > kShortWordBytes;
  if (tokens.size() <= 4 && !is_long) {
    std::copy(tokens.begin(), tokens.end(), entry.tokens);
    entry.tokens[0] |= static_cast<std::uint32_t>(tokens.size()) << 24;
    return;
  }
  entry.tokens[0] = WordEntry::kElsewhere << 24;
  entry.tokens[1] = static_cast<std::uint32_t>(elsewhere_.size() - kSpare);
  entry.tokens[2] = static_cast<std::uint32_t>(tokens.size());
  entry.tokens[3] = is_long ? static_cast<std::uint32_t>(word.size()) : 0;
  const std::size_t more = tokens.size() + (is_long ? (word.size() + 3) / 4 : 0);
  elsewhere_.resize(elsewhere_.size() + more);
  std::uint32_t* to = elsewhere_.data() + entry.tokens[1];
  to = std::copy(tokens.begin(), tokens.end(), to);
  if (is_long) std::memcpy(to, word.data(), word.size());
}

void WordTable::grow() {
  const PageBuffer old = std::move(memory_);
  const std::span<const WordLine> lines(lines_, mask_ + 1);
  allocate(lines.size() * 2);
  for (const WordLine& line : lines)
    for (const WordEntry& entry : line.entries)
      if (entry.key.high != 0) *slot(entry.key, entry.key.hash()) = entry;
}

}  // namespace headrace::tokenizing
