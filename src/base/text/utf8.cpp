#include "base/text/utf8.h"

#include <cstdint>

namespace headrace {

Utf8Sequence utf8_sequence_at(std::string_view text, std::size_t at) {
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

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Sequence sequence = utf8_sequence_at(text, at);
    if (!sequence.is_whole) return false;
    at += sequence.bytes;
  }
  return true;
}

}  // namespace headrace
