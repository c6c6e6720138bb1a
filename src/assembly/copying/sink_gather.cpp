// Sink::gather(): rows from anywhere in a store of all of them, straight into a batch.
#include <algorithm>
#include <type_traits>

#include "assembly/copying/prefetch.h"
#include "assembly/copying/row_kernels.h"
#include "assembly/copying/sink.h"
#include "assembly/copying/transformed_rows.h"

namespace headrace {
namespace {

constexpr std::size_t kAheadOfShort = 32;  // of rows of one line: more of them are needed to fill the same time

/// What is asked for.
struct Asked {
  std::span<const std::uint64_t> rows, distances;
  std::uint64_t first_place;
  [[nodiscard]] std::uint64_t distance(std::size_t i) const { return distances.empty() ? 0 : distances[i]; }
};

/// The field whose copies say which rows they were: their hashes go to the digest.
template <class RowDivisor>
struct LeadField {
  static constexpr bool kLeads = true;
  CopyDigest<RowDivisor> digest;
  const Asked& asked;
  RowSums* sums;

  void saw(std::size_t i, const std::byte* source, const std::byte* place) {
    const std::uint64_t number = digest.saw(source, place, 1, asked.distance(i));
    if (sums) sums->add(number);
  }
};

/// The other fields: copies of the lead field's rows to its places are right. No hash has to say so again.
template <class RowDivisor>
struct OtherField {
  static constexpr bool kLeads = false;
  const std::byte* const data;
  const std::byte* const to;
  const RowDivisor stride, row_bytes;
  const Asked& asked;
  std::uint64_t misaligned = 0, copies = 0;

  void saw(std::size_t i, const std::byte* source, const std::byte* target) {
    const Divisor::Parts row = stride.divide(static_cast<std::uint64_t>(source - data));
    const Divisor::Parts place = row_bytes.divide(static_cast<std::uint64_t>(target - to));
    misaligned |= row.remainder | place.remainder | (row.quotient ^ asked.rows[i]);
    misaligned |= place.quotient ^ (asked.first_place + i);
    ++copies;
  }
};

/// Copy the rows of one field; `field` sees the addresses of each copy.
template <class Copy, class RowDivisor, class Field>
void copy_rows(const RowsAt& from, std::byte* to, Copy copy, const RowDivisor& divisor, Field& field) {
  const std::span<const std::uint64_t> rows = field.asked.rows;
  const std::size_t row_bytes = divisor.value();
  const std::size_t lines = std::min((row_bytes + kCacheLineBytes - 1) / kCacheLineBytes, kLinesAhead);
  const std::size_t ahead = lines == 1 ? kAheadOfShort : kRowsAhead;
  const auto at = [&](std::size_t i) { return from.data + rows[i] * row_bytes; };
  // Inlined by force: GCC 12 takes a function that only prefetches for one that does nothing, and drops its calls.
  const auto ask = [&](std::size_t i) __attribute__((always_inline)) {
    for (std::size_t line = 0; line < lines; ++line) __builtin_prefetch(at(i) + line * kCacheLineBytes);
  };
  std::byte* const base = to + field.asked.first_place * row_bytes;
  for (std::size_t i = 0; i < std::min(ahead, rows.size()); ++i) ask(i);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i + ahead < rows.size()) ask(i + ahead);
    const std::byte* const source = at(i);
    std::byte* const place = base + i * row_bytes;
    copy(place, source);
    field.saw(i, source, place);
  }
}

}  // namespace

std::vector<RowFailure> Sink::gather(std::span<const RowsAt> from, std::span<const std::uint64_t> rows,
                                     std::span<const std::uint64_t> distances, std::uint64_t first_place,
                                     const RowRun& to) const {
  const Asked asked{rows, distances, first_place};
  RowSums* const sums = to.digest ? &to.digest->sums : nullptr;
  std::vector<RowFailure> failures;
  // The first field whose copies say which rows they were. A field that is transformed says so itself.
  std::size_t lead = 0;
  while (lead < empty_.size() && (empty_[lead] || row_program(lead))) ++lead;
  std::uint64_t hash = 0, placed = 0;
  if (lead < empty_.size())
    with_kernel(from[lead], nullptr, row_bytes_[lead], [&](auto copy, const auto& by) {
      std::byte* const target = to.fields[array_of(lead)];
      LeadField<std::remove_cvref_t<decltype(by.stride)>> field{
          {from[lead], by.stride, target, to.first_position, by.row_bytes}, asked, sums};
      copy_rows(from[lead], target, copy, by.row_bytes, field);
      hash = field.digest.hash();
    });
  else
    for (std::size_t i = 0; i < rows.size(); ++i) {  // nothing to copy here, and no address of a copy
      const std::uint64_t number = from[0].first_row + rows[i] + asked.distance(i);
      hash += run_hash(number, to.first_position + first_place + i);
      if (sums) sums->add(number);
    }
  for (std::size_t f = 0; f < from.size(); ++f) {
    if (const RowProgram* const program = row_program(f)) {
      const TransformedRows job{*program, {from[f], nullptr}, row_bytes_[f].value(), array_of(f), made_bytes_[f]};
      placed += gather_transformed(job, rows, distances, first_place, to, failures) * field_weight(f);
      continue;
    }
    placed += hash * field_weight(f);
    if (f == lead || empty_[f]) continue;
    with_kernel(from[f], nullptr, row_bytes_[f], [&](auto copy, const auto& by) {
      std::byte* const target = to.fields[array_of(f)];
      OtherField<std::remove_cvref_t<decltype(by.stride)>> field{from[f].data, target, by.stride, by.row_bytes, asked};
      copy_rows(from[f], target, copy, by.row_bytes, field);
      placed += (field.misaligned | (field.copies ^ rows.size())) * kMisalignedCopy;
    });
  }
  if (to.digest) to.digest->placed += placed;
  return failures;
}

}  // namespace headrace
