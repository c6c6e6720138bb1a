// Sizes in bytes: functions for C++ callers, and the text form that Python, the command line and run files share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headrace {

/// Return `n` MiB in bytes.
constexpr std::uint64_t mebibytes(std::uint64_t n) {
  return n << 20;
}
/// Return `n` GiB in bytes.
constexpr std::uint64_t gibibytes(std::uint64_t n) {
  return n << 30;
}

/// Parse "8GiB", "8G" (both 8·2^30), "8GB" (8e9), "512 mib", "1.5GiB" or plain bytes. Spaces and case do not matter.
/// Throws Error(kInvalidArgument) for anything else, for negative sizes and for sizes past 2^63.
std::uint64_t parse_bytes(std::string_view text);

/// Return text such as "1.50 GiB", "512 MiB" or "17 B": three significant digits, binary units.
std::string format_bytes(std::uint64_t bytes);

}  // namespace headrace
