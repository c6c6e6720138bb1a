#include "tokenizer/merge_word.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace headrace::tokenizing {
namespace {

constexpr std::size_t kShortWord = 64;

/// Looks at all pairs for each merge: quadratic, and quickest for words as they are.
void merge_short(const PairTable& pairs, std::span<std::uint32_t> tokens, std::vector<std::uint32_t>& out) {
  Merge merges[kShortWord];
  std::size_t n = tokens.size();
  for (std::size_t i = 0; i + 1 < n; ++i) merges[i] = pairs.find(tokens[i], tokens[i + 1]);
  while (n > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < n; ++i)
      if (merges[i].rank < merges[best].rank) best = i;
    if (merges[best].rank == kNoRank) break;
    tokens[best] = merges[best].result;
    for (std::size_t i = best + 1; i + 1 < n; ++i) tokens[i] = tokens[i + 1], merges[i] = merges[i + 1];
    --n;
    if (best > 0) merges[best - 1] = pairs.find(tokens[best - 1], tokens[best]);
    if (best + 1 < n) merges[best] = pairs.find(tokens[best], tokens[best + 1]);
  }
  out.insert(out.end(), tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(n));
}

/// Keeps the pairs in a heap by (rank, place), and the tokens in a list.
class LongWord {
 public:
  LongWord(const PairTable& pairs, std::span<std::uint32_t> tokens)
      : pairs_(pairs), tokens_(tokens), next_(tokens.size()), before_(tokens.size()), merges_(tokens.size()) {
    const auto n = static_cast<std::uint32_t>(tokens.size());
    for (std::uint32_t i = 0; i < n; ++i) next_[i] = i + 1, before_[i] = i - 1;
    for (std::uint32_t i = 0; i + 1 < n; ++i) look_at(i);
  }

  void merge_all(std::vector<std::uint32_t>& out) {
    const auto n = static_cast<std::uint32_t>(tokens_.size());
    while (!heap_.empty()) {
      const std::uint64_t top = heap_.top();
      heap_.pop();
      const auto at = static_cast<std::uint32_t>(top);
      if (merges_[at].rank != top >> 32) continue;  // another merge came first
      const std::uint32_t gone = next_[at];
      tokens_[at] = merges_[at].result;
      merges_[at] = merges_[gone] = {};
      next_[at] = next_[gone];
      if (next_[at] < n) {
        before_[next_[at]] = at;
        look_at(at);
      }
      if (at > 0) look_at(before_[at]);
    }
    for (std::uint32_t i = 0; i < n; i = next_[i]) out.push_back(tokens_[i]);
  }

 private:
  void look_at(std::uint32_t at) {
    merges_[at] = pairs_.find(tokens_[at], tokens_[next_[at]]);
    if (merges_[at].rank != kNoRank) heap_.push(std::uint64_t{merges_[at].rank} << 32 | at);
  }

  const PairTable& pairs_;
  std::span<std::uint32_t> tokens_;
  std::vector<std::uint32_t> next_, before_;
  std::vector<Merge> merges_;
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> heap_;
};

}  // namespace

void merge_word(const std::array<std::uint32_t, 256>& byte_ids, const PairTable& pairs,
                std::span<const std::uint8_t> word, std::vector<std::uint32_t>& out) {
  const auto id_of = [&](std::uint8_t byte) { return byte_ids[byte]; };
  if (word.size() <= kShortWord) {
    std::uint32_t tokens[kShortWord];
    std::transform(word.begin(), word.end(), tokens, id_of);
    merge_short(pairs, {tokens, word.size()}, out);
    return;
  }
  std::vector<std::uint32_t> tokens(word.size());
  std::transform(word.begin(), word.end(), tokens.begin(), id_of);
  LongWord(pairs, tokens).merge_all(out);
}

}  // namespace headrace::tokenizing
