#include "tokenizer/vocabulary/byte_names.h"

#include <array>
#include <cstdint>

namespace headrace::tokenizing {
namespace {

/// The byte of each character below 512; -1: none. Bytes that print are themselves, the others follow from 256 on.
std::array<int, 512> make_bytes() {
  std::array<int, 512> bytes{};
  bytes.fill(-1);
  std::size_t other = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const bool prints = (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
    bytes[prints ? static_cast<std::size_t>(byte) : other++] = byte;
  }
  return bytes;
}

}  // namespace

std::optional<std::string> bytes_of_name(std::string_view name) {
  static const std::array<int, 512> bytes = make_bytes();
  std::string result;
  for (std::size_t i = 0; i < name.size(); ++i) {
    std::size_t code = static_cast<std::uint8_t>(name[i]);
    if (code >= 0x80) {
      if (code < 0xC2 || code > 0xC7 || i + 1 == name.size()) return std::nullopt;
      code = (code & 31) << 6 | (static_cast<std::uint8_t>(name[++i]) & 63u);
    }
    if (bytes[code] < 0) return std::nullopt;
    result.push_back(static_cast<char>(bytes[code]));
  }
  return result;
}

}  // namespace headrace::tokenizing
