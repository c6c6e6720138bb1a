#include "catalog/row_set.h"

#include <algorithm>
#include <bit>

namespace headrace {
namespace {

constexpr std::uint64_t kEachByte = 0x0101010101010101u;

/// Return in each byte how many ones it has.
std::uint64_t ones_of_bytes(std::uint64_t word) {
  word -= word >> 1 & 0x5555555555555555u;
  word = (word & 0x3333333333333333u) + (word >> 2 & 0x3333333333333333u);
  return (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
}

/// Not std::popcount, which is a call where the processor may lack the instruction.
std::uint64_t ones(std::uint64_t word) {
  return ones_of_bytes(word) * kEachByte >> 56;
}

/// Return the place of the k-th one of `word`, k below their number: the byte by sums over all bytes at once (Vigna
/// 2008, "Broadword implementation of rank/select queries"), the bit in it one by one.
std::uint64_t place_of_one(std::uint64_t word, std::uint64_t k) {
  const std::uint64_t sums = ones_of_bytes(word) * kEachByte;  // up to the end of each byte
  // Sums are below 128: the top bit of a byte stays where its sum is at most k, which is so of the bytes before.
  const std::uint64_t at_most = (((k | 0x80) * kEachByte) - sums) & (0x80 * kEachByte);
  const auto shift = static_cast<unsigned>((at_most >> 7) * kEachByte >> 56) * 8;
  if (shift > 0) k -= sums >> (shift - 8) & 0xFF;
  std::uint64_t byte = word >> shift & 0xFF;
  for (; k > 0; --k) byte &= byte - 1;
  return shift + static_cast<std::uint64_t>(std::countr_zero(byte));
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
  constexpr std::uint64_t kFew = 8;  // spans that are looked through from the first
  std::uint64_t span = first_span;
  if (end_span - first_span > kFew) {
    const auto begin = before_.begin() + static_cast<std::ptrdiff_t>(first_span);
    const auto end = before_.begin() + static_cast<std::ptrdiff_t>(end_span);
    span = static_cast<std::uint64_t>(std::upper_bound(begin + 1, end, i) - before_.begin()) - 1;
  } else {
    while (span + 1 < end_span && before_[span + 1] <= i) ++span;
  }
  std::uint64_t left = i - before_[span], w = span * kSpanWords;
  for (std::uint64_t here = ones(words_[w]); left >= here; here = ones(words_[++w])) left -= here;
  return w * 64 + place_of_one(words_[w], left);
}

}  // namespace headrace
