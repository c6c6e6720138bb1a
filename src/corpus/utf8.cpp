#include "corpus/utf8.h"

#include <simdjson.h>

#include <cstdint>

namespace headrace::corpora {
namespace {

/// A character, or what there is of one.
struct Sequence {
  std::size_t bytes;
  bool is_whole;
};

/// Table 3-7 of Unicode 16.0: which bytes may follow which.
Sequence sequence_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t k) -> std::uint8_t {
    return at + k < text.size() ? static_cast<std::uint8_t>(text[at + k]) : std::uint8_t{0};
  };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {1, true};
  if (lead < 0xC2 || lead > 0xF4) return {1, false};
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  const std::uint8_t least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const std::uint8_t most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < least || byte(1) > most) return {1, false};
  for (std::size_t k = 2; k < length; ++k)
    if ((byte(k) & 0xC0) != 0x80) return {k, false};
  return {length, true};
}

}  // namespace

std::size_t first_ill_formed(std::string_view text) {
  if (simdjson::validate_utf8(text.data(), text.size())) return std::string_view::npos;
  for (std::size_t at = 0; at < text.size();) {
    const Sequence sequence = sequence_at(text, at);
    if (!sequence.is_whole) return at;
    at += sequence.bytes;
  }
  return std::string_view::npos;
}

std::string replace_ill_formed(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 16);
  for (std::size_t at = 0; at < text.size();) {
    const Sequence sequence = sequence_at(text, at);
    out += sequence.is_whole ? text.substr(at, sequence.bytes) : std::string_view("\xEF\xBF\xBD");
    at += sequence.bytes;
  }
  return out;
}

}  // namespace headrace::corpora
