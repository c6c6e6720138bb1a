// Words longer than a table of short words takes, and their tokens: few, and dear to merge again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace headrace::tokenizing {

/// Remembers words of up to kMostBytes bytes, and forgets all where it holds too many. Threads: one at a time.
class LongWords {
 public:
  static constexpr std::size_t kMostBytes = 512;

  /// Return the tokens of a word; null: it is not remembered.
  [[nodiscard]] const std::vector<std::uint32_t>* find(std::string_view word) const {
    const auto found = words_.find(word);
    return found == words_.end() ? nullptr : &found->second;
  }
  void put(std::string_view word, std::vector<std::uint32_t> tokens) {
    if (word.size() > kMostBytes) return;
    if (bytes_ > kAllBytes) words_.clear(), bytes_ = 0;
    bytes_ += word.size() + tokens.size() * sizeof(std::uint32_t) + 128;
    words_.emplace(word, std::move(tokens));
  }

 private:
  static constexpr std::size_t kAllBytes = std::size_t{16} << 20;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view word) const { return std::hash<std::string_view>()(word); }
  };
  std::unordered_map<std::string, std::vector<std::uint32_t>, Hash, std::equal_to<>> words_;
  std::size_t bytes_ = 0;
};

}  // namespace headrace::tokenizing
