#include "format/zarr/chunk_keys.h"

#include <charconv>
#include <memory>

namespace headrace::zarr {

std::string ChunkKeys::key(const std::vector<std::uint64_t>& coordinates) const {
  std::string text;
  if (has_prefix) text = "c";
  for (const std::uint64_t at : coordinates) {
    if (!text.empty()) text += separator;
    text += std::to_string(at);
  }
  return text;
}

std::optional<std::vector<std::uint64_t>> ChunkKeys::parse(std::string_view name, std::size_t rank) const {
  if (has_prefix) {
    if (name.size() < 2 || name[0] != 'c' || name[1] != separator) return std::nullopt;
    name.remove_prefix(2);
  }
  std::vector<std::uint64_t> at;
  for (;;) {
    const std::string_view digits = name.substr(0, name.find(separator));
    std::uint64_t number = 0;
    const char* const end = std::to_address(digits.end());
    const auto [stop, error] = std::from_chars(std::to_address(digits.begin()), end, number);
    if (digits.empty() || error != std::errc() || stop != end || (digits.size() > 1 && digits[0] == '0'))
      return std::nullopt;
    at.push_back(number);
    if (digits.size() == name.size()) break;
    name.remove_prefix(digits.size() + 1);
  }
  if (at.size() != rank) return std::nullopt;
  return at;
}

}  // namespace headrace::zarr
