// What is behind Tokenizer: its vocabulary, the table that threads share, and what they have learned.
#pragma once

#include <headrace/tokenizer.h>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/threads/fork_safe_mutex.h"
#include "tokenizer/vocabulary/vocabulary.h"
#include "tokenizer/word_encoder.h"

namespace headrace {

/// Positions in a text have 32 bits.
inline constexpr std::uint64_t kMostTextBytes = 0xFFFF0000u;

/// Ids for which a thread keeps room.
inline constexpr std::size_t kMostKept = std::size_t{1} << 21;

/// Holds what threads have learned between calls. Two calls at once have one each.
struct Tokenizer::Impl {
  explicit Impl(tokenizing::Vocabulary opened) : vocabulary(std::move(opened)), encoder(vocabulary) {}

  std::unique_ptr<tokenizing::LearnedWords> take() const {
    {
      const std::lock_guard lock(mutex);
      if (!learned.empty()) {
        auto taken = std::move(learned.back());
        learned.pop_back();
        return taken;
      }
    }
    return std::make_unique<tokenizing::LearnedWords>();
  }
  void give(std::unique_ptr<tokenizing::LearnedWords> words) const {
    if (words->most_bytes < tokenizing::LearnedWords::kUsualBytes)
      words->words = {}, words->most_bytes = words->kUsualBytes;
    for (auto* buffer : {&words->tokens, &words->ids})
      if (buffer->capacity() > kMostKept) *buffer = {};  // of a text without words, or one that could not be cut
    const std::lock_guard lock(mutex);
    learned.push_back(std::move(words));
  }

  tokenizing::Vocabulary vocabulary;
  tokenizing::WordEncoder encoder;
  mutable ForkSafeMutex mutex;
  mutable std::vector<std::unique_ptr<tokenizing::LearnedWords>> learned;
};

}  // namespace headrace
