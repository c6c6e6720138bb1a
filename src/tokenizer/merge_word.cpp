#include "tokenizer/merge_word.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace headrace::tokenizing {
namespace {

constexpr std::size_t kShortPart = 64;

/// Looks at all pairs for each merge: quadratic, and quickest for words as they are.
void merge_short(const PairTable& pairs, std::uint32_t* tokens, Merge* merges, std::size_t n,
                 std::vector<std::uint32_t>& out) {
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
  out.insert(out.end(), tokens, tokens + n);
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

WordMerger::WordMerger(const std::array<std::uint32_t, 256>& byte_ids, const PairTable& pairs,
                       const std::unordered_map<std::string, std::uint32_t>& ids)
    : byte_ids_(byte_ids), pairs_(pairs), byte_pairs_(65536) {
  for (std::size_t i = 0; i < byte_pairs_.size(); ++i)
    byte_pairs_[i].merge = pairs.find(byte_ids[i >> 8], byte_ids[i & 255]);
  for (const auto& [bytes, id] : ids)
    for (std::size_t i = 0; i + 1 < bytes.size(); ++i)
      byte_pairs_[std::size_t{static_cast<std::uint8_t>(bytes[i])} << 8 | static_cast<std::uint8_t>(bytes[i + 1])]
          .in_token = true;
}

void WordMerger::merge_part(std::span<const std::uint8_t> part, std::vector<std::uint32_t>& out) const {
  const std::size_t n = part.size();
  if (n <= kShortPart) {
    std::uint32_t tokens[kShortPart];
    Merge merges[kShortPart];
    for (std::size_t i = 0; i < n; ++i) tokens[i] = byte_ids_[part[i]];
    for (std::size_t i = 0; i + 1 < n; ++i) merges[i] = pair(&part[i]).merge;
    merge_short(pairs_, tokens, merges, n, out);
    return;
  }
  std::vector<std::uint32_t> tokens(n);
  std::transform(part.begin(), part.end(), tokens.begin(), [&](std::uint8_t byte) { return byte_ids_[byte]; });
  LongWord(pairs_, tokens).merge_all(out);
}

void WordMerger::merge(std::span<const std::uint8_t> word, std::vector<std::uint32_t>& out) const {
  std::size_t begin = 0;
  for (std::size_t i = 1; i <= word.size(); ++i) {
    if (i < word.size() && pair(&word[i - 1]).in_token) continue;
    if (i - begin == 1) {
      out.push_back(byte_ids_[word[begin]]);
    } else {
      merge_part(word.subspan(begin, i - begin), out);
    }
    begin = i;
  }
}

}  // namespace headrace::tokenizing
