#include "catalog/row_set.h"

#include <algorithm>
#include <bit>

namespace headrace {
namespace {

std::uint64_t ones(std::uint64_t word) {
  return static_cast<std::uint64_t>(std::popcount(word));
}

}  // namespace

RowSet::RowSet(std::uint64_t whole, std::span<const std::uint64_t> rows)
    : whole_(whole), words_((whole / kSpanRows + 1) * kSpanWords), before_(whole / kSpanRows + 2) {
  for (const std::uint64_t row : rows) words_[row / 64] |= std::uint64_t{1} << (row % 64);
  count();
}

RowSet::RowSet(std::uint64_t whole, std::span<const std::pair<std::uint64_t, std::uint64_t>> runs)
    : whole_(whole), words_((whole / kSpanRows + 1) * kSpanWords), before_(whole / kSpanRows + 2) {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  for (const auto& [first, end] : runs)
    for (std::uint64_t row = first; row < end;) {
      const std::uint64_t bit = row % 64, bits = std::min(64 - bit, end - row);
      words_[row / 64] |= kAll >> (64 - bits) << bit;
      row += bits;
    }
  count();
}

void RowSet::count() {
  for (std::uint64_t w = 0; w < words_.size(); ++w) before_[w / kSpanWords + 1] += ones(words_[w]);
  for (std::uint64_t s = 1; s < before_.size(); ++s) before_[s] += before_[s - 1];
}

std::uint64_t RowSet::count_below(std::uint64_t row) const {
  std::uint64_t count = before_[row / kSpanRows];
  for (std::uint64_t w = row / kSpanRows * kSpanWords; w < row / 64; ++w) count += ones(words_[w]);
  return row % 64 == 0 ? count : count + ones(words_[row / 64] << (64 - row % 64));
}

RowSet RowSet::part(std::uint64_t first, std::uint64_t end) const {
  std::vector<std::uint64_t> rows;
  const std::uint64_t last = count_below(end);
  for (std::uint64_t i = count_below(first); i < last; ++i) rows.push_back((*this)[i] - first);
  return {end - first, rows};
}

/// The span that holds it, the word in the span, the bit in the word.
std::uint64_t RowSet::find(std::uint64_t i, std::uint64_t first_span, std::uint64_t end_span) const {
  const auto begin = before_.begin() + static_cast<std::ptrdiff_t>(first_span);
  const auto end = before_.begin() + static_cast<std::ptrdiff_t>(end_span);
  const auto span = static_cast<std::uint64_t>(std::upper_bound(begin + 1, end, i) - before_.begin()) - 1;
  std::uint64_t left = i - before_[span], w = span * kSpanWords;
  for (; left >= ones(words_[w]); ++w) left -= ones(words_[w]);
  std::uint64_t word = words_[w];
  for (; left > 0; --left) word &= word - 1;
  return w * 64 + static_cast<std::uint64_t>(std::countr_zero(word));
}

}  // namespace headrace
