// Numbers in sentences.
#pragma once

#include <cstdint>
#include <string>

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

}  // namespace headrace
