#include "corpus/json_escapes.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace headrace::corpora {
namespace {

constexpr std::size_t kEscapeBytes = 6;

/// Return what "\uXXXX" at the start of a text is; 0: it does not begin so.
std::uint32_t unit_of(std::string_view text) {
  std::uint32_t unit = 0;
  if (text.size() < kEscapeBytes || !text.starts_with("\\u")) return 0;
  const char* const end = text.data() + kEscapeBytes;
  const auto [stop, error] = std::from_chars(text.data() + 2, end, unit, 16);
  return error == std::errc() && stop == end ? unit : 0;
}

bool is_high(std::uint32_t unit) {
  return unit >= 0xD800 && unit < 0xDC00;
}
bool is_low(std::uint32_t unit) {
  return unit >= 0xDC00 && unit < 0xE000;
}

}  // namespace

std::string with_pairs_alone(std::string_view line, std::string_view instead) {
  std::string out;
  out.reserve(line.size());
  while (!line.empty()) {
    std::size_t bytes = 1;
    if (line[0] == '\\') {
      const std::uint32_t unit = unit_of(line);
      const bool pair = is_high(unit) && is_low(unit_of(line.substr(kEscapeBytes)));
      bytes = pair ? 2 * kEscapeBytes : unit != 0 ? kEscapeBytes : std::min<std::size_t>(2, line.size());
      if (!pair && (is_high(unit) || is_low(unit))) {
        out += instead;
        line.remove_prefix(kEscapeBytes);
        continue;
      }
    }
    out += line.substr(0, bytes);
    line.remove_prefix(bytes);
  }
  return out;
}

}  // namespace headrace::corpora
