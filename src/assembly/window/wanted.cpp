#include "assembly/window/wanted.h"

#include <algorithm>

namespace headrace {

std::span<const Move> moves_near(const Wanted& wanted, const RowsAt& source, std::uint64_t first_row) {
  const auto row_of = [&](std::uint64_t number) { return number > first_row ? number - first_row : 0; };
  const std::uint64_t begin = row_of(source.first_row), end = row_of(source.first_row + source.count);
  const std::uint64_t longest = wanted.longest_move;
  const auto first = std::lower_bound(wanted.moves.begin(), wanted.moves.end(), begin,
                                      [&](const Move& m, std::uint64_t row) { return m.row + longest <= row; });
  const auto last =
      std::lower_bound(first, wanted.moves.end(), end, [](const Move& m, std::uint64_t row) { return m.row < row; });
  return {first, last};
}

}  // namespace headrace
