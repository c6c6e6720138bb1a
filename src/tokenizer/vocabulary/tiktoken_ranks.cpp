#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "tokenizer/vocabulary/vocabulary_text.h"

namespace headrace::tokenizing {
namespace {

constexpr std::size_t kMostTokenBytes = 1024;  // the longest of cl100k_base has 128

int base64_value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    const int value = base64_value(c);
    if (value < 0) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes.push_back(static_cast<char>(bits >> held & 0xFF));
  }
  return bytes;
}

/// Any two neighbours merge whose bytes are a token together, in the order of that token's rank.
std::vector<NamedMerge> merges_of_ranks(const std::unordered_map<std::string, std::uint32_t>& ids) {
  std::vector<NamedMerge> merges;
  for (const auto& [bytes, id] : ids)
    for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
      const auto left = ids.find(bytes.substr(0, cut));
      if (left == ids.end()) continue;
      const auto right = ids.find(bytes.substr(cut));
      if (right != ids.end()) merges.push_back({left->second, right->second, {id, id}});
    }
  return merges;
}

}  // namespace

Result<Vocabulary> parse_tiktoken(std::string_view text, Grammar grammar,
                                  const std::map<std::string, std::uint32_t>& special) {
  Vocabulary vocabulary;
  vocabulary.grammar = grammar;
  vocabulary.whole_words = true;
  vocabulary.overlaps_are_open = true;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const std::size_t blank = std::min(line.find(' '), line.size());
    std::optional<std::string> bytes = decode_base64(line.substr(0, blank));
    std::uint32_t rank = 0;
    const char* last = line.data() + line.size();
    const auto read = std::from_chars(std::min(line.data() + blank + 1, last), last, rank);
    if (!bytes || bytes->empty() || read.ec != std::errc() || read.ptr != last)
      return Error(ErrorCode::kCorruptData, fmt::format("line {} is not a token in base64 and its rank", number));
    if (bytes->size() > kMostTokenBytes)
      return Error(ErrorCode::kUnsupported, fmt::format("line {} has a token of {} bytes", number, bytes->size()));
    if (!vocabulary.ids.emplace(std::move(*bytes), rank).second)
      return Error(ErrorCode::kCorruptData, fmt::format("line {} has a token that an earlier line has", number));
  }
  for (const auto& [word, id] : special) vocabulary.added.push_back({word, id});
  HEADRACE_TRY(complete(vocabulary, merges_of_ranks(vocabulary.ids)));
  return vocabulary;
}

}  // namespace headrace::tokenizing
