// Numbers in sentences, and numbers in text.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headrace {

/// Return "1,234,567".
inline std::string group_digits(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

/// Return what a regular noun ends in for so many: "" for 1, else "s".
constexpr const char* plural(std::uint64_t number) {
  return number == 1 ? "" : "s";
}

/// Take a number from the start of a text, written as in JSON or C whatever the locale; none in base 16, no space
/// before. \return Nothing, and the text as it was: it does not begin with one.
inline std::optional<double> take_number(std::string_view& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}
/// Return the number that all of a text is.
inline std::optional<double> number_of(std::string_view text) {
  const std::optional<double> number = take_number(text);
  return text.empty() ? number : std::nullopt;
}

}  // namespace headrace
