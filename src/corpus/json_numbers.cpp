#include "corpus/json_numbers.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace headrace::corpora {
namespace {

using std::string_view_literals::operator""sv;
constexpr std::string_view kBetween = " \t\r\n,:[]{}\"";
constexpr std::array kNoNumbers{"NaN"sv, "Infinity"sv, "-Infinity"sv};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::size_t digits(std::string_view text, std::size_t at) {
  std::size_t n = 0;
  while (at + n < text.size() && is_digit(text[at + n])) ++n;
  return n;
}

/// Return the bytes of a text from its quotation mark on, with the one at its end if there is one.
std::size_t text_bytes(std::string_view line) {
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (line[i] == '\\')
      ++i;
    else if (line[i] == '"')
      return i + 1;
  }
  return line.size();
}

bool is_number(std::string_view line) {
  std::size_t n = line.starts_with('-') ? 1 : 0;
  const std::size_t whole = digits(line, n);
  if (whole == 0 || (whole > 1 && line[n] == '0')) return false;
  n += whole;
  if (n < line.size() && line[n] == '.') {
    const std::size_t fraction = digits(line, n + 1);
    if (fraction == 0) return false;
    n += 1 + fraction;
  }
  if (n < line.size() && (line[n] == 'e' || line[n] == 'E')) {
    const std::size_t sign = n + 1 < line.size() && (line[n + 1] == '-' || line[n + 1] == '+') ? 1 : 0;
    const std::size_t exponent = digits(line, n + 1 + sign);
    if (exponent == 0) return false;
    n += 1 + sign + exponent;
  }
  return n == line.size();
}

}  // namespace

std::string without_numbers(std::string_view line) {
  std::string out;
  out.reserve(line.size());
  while (!line.empty()) {
    std::size_t bytes = 1;
    std::string_view put = line.substr(0, 1);
    if (line[0] == '"') {
      put = line.substr(0, bytes = text_bytes(line));
    } else if (kBetween.find(line[0]) == std::string_view::npos) {
      put = line.substr(0, bytes = std::min(line.find_first_of(kBetween), line.size()));
      if (is_number(put)) put = "0";
      if (std::ranges::find(kNoNumbers, put) != kNoNumbers.end()) put = "null";
    }
    out += put;
    line.remove_prefix(bytes);
  }
  return out;
}

}  // namespace headrace::corpora
