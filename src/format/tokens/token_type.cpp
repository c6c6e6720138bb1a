#include "format/tokens/token_type.h"

#include <array>
#include <string>

namespace headrace::token_files {

std::optional<DType> token_type(std::string_view word) {
  if (word.starts_with('<') || word.starts_with('|')) word.remove_prefix(1);
  for (const DType::Kind kind : {DType::Kind::kUInt, DType::Kind::kInt})
    for (const std::uint32_t bytes : std::array<std::uint32_t, 4>{1, 2, 4, 8}) {
      const DType type{kind, bytes};
      const std::string letter = kind == DType::Kind::kUInt ? "u" : "i";
      if (word == type.name() || word == letter + std::to_string(bytes)) return type;
    }
  return std::nullopt;
}

DType token_type_for(std::uint64_t vocab_size) {
  constexpr std::uint64_t kLeastWide = 65536;
  return {DType::Kind::kUInt, vocab_size < kLeastWide ? 2u : 4u};
}

std::uint64_t largest_of(const DType& type) {
  const unsigned bits = 8 * type.itemsize - (type.kind == DType::Kind::kInt ? 1 : 0);
  return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

}  // namespace headrace::token_files
