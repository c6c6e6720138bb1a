#include <headrace/dataset/dataset.h>

#include <array>

namespace headrace {
namespace {

constexpr std::array<std::string_view, 3> kWords{"error", "fill", "mask"};

}  // namespace

std::string_view to_string(Nulls nulls) {
  return kWords[static_cast<std::size_t>(nulls)];
}

std::optional<Nulls> nulls_of(std::string_view word) {
  for (std::size_t i = 0; i < kWords.size(); ++i)
    if (kWords[i] == word) return static_cast<Nulls>(i);
  return std::nullopt;
}

}  // namespace headrace
