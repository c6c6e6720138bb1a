#include "assembly/copying/sink.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "assembly/copying/prefetch.h"
#include "assembly/copying/row_copy.h"
#include "assembly/copying/row_kernels.h"
#include "assembly/copying/transformed_rows.h"

namespace headrace {
namespace {

constexpr std::size_t kLargestNumber = 8;  // rows are aligned for any type
// On their way from memory while a move is copied: so many others, and so much of each. Windows of 1 KiB from a store
// of 100 MB took 206 ns with four lines of each, 252 with none, 185 with all.
constexpr std::size_t kMovesAhead = 4, kMostAsked = 1024;

/// What the kernels of one field work on.
struct Job {
  const FieldRows& from;
  const std::uint64_t first_row;  // number of row 0 of the requests
  const std::size_t row_bytes;
  const std::size_t array;  // of the slot

  template <class RowDivisor>
  CopyDigest<RowDivisor> copies_of(const RowRun& run, const Divisors<RowDivisor>& by) const {
    return {from.rows, by.stride, run.fields[array], run.first_position, by.row_bytes};
  }
  RowSums* sums(const RowRun& run) const { return from.counts_rows && run.digest ? &run.digest->sums : nullptr; }
  void add(const RowRun& run, std::uint64_t hash) const {
    if (run.digest) run.digest->placed += hash * from.weight;
  }
};

/// Single rows, run by run. \return Rows copied.
template <class Copy, class By>
std::uint64_t put_rows(const Job& job, std::span<const Request> requests, std::span<const RowRun> runs, Copy copy,
                       const By& by) {
  const RowsAt& source = job.from.rows;
  const std::uint64_t shift = job.first_row - source.first_row;
  std::uint64_t copied = 0;
  for (const RowRun& run : runs) {
    auto copies = job.copies_of(run, by);
    RowSums* const sums = job.sums(run);
    std::byte* const to = run.fields[job.array];
    for (std::uint32_t i = run.begin; i < run.end; ++i) {
      const std::uint64_t row = requests[i].item + shift;  // wraps for rows before the source, is too large then
      if (row >= source.count) continue;
      const std::byte* const at = source.data + row * source.stride_bytes;
      std::byte* const place = to + requests[i].position * job.row_bytes;
      copy(place, at);
      const std::uint64_t number = copies.saw(at, place);
      if (sums) sums->add(number);
      ++copied;
    }
    job.add(run, copies.hash());
  }
  return copied;
}

/// Moves by ascending row; each may lie partly in the source. \return Rows copied.
template <class Copy, class By>
std::uint64_t put_moves(const Job& job, std::span<const Move> moves, std::span<const RowRun> runs, bool whole_runs,
                        Copy copy, const By& by) {
  const RowsAt& source = job.from.rows;
  std::uint64_t copied = 0;
  // Rows may lie anywhere in a store. Inlined by force, as in sink_gather.cpp.
  const auto ask = [&](const Move& move) __attribute__((always_inline)) {
    const std::uint64_t row = job.first_row + move.row - source.first_row;
    const std::byte* const at = source.data + std::min(row, source.count) * source.stride_bytes;
    const std::size_t bytes = std::min(move.count * source.stride_bytes, kMostAsked);
    for (std::size_t ahead = 0; ahead < bytes; ahead += kCacheLineBytes) __builtin_prefetch(at + ahead);
  };
  for (std::size_t i = 0; i < moves.size(); ++i) {
    if (i + kMovesAhead < moves.size()) ask(moves[i + kMovesAhead]);
    const Move& move = moves[i];
    const std::uint64_t first = job.first_row + move.row;
    const std::uint64_t begin = std::max(first, source.first_row);
    const std::uint64_t end = std::min(first + move.count, source.first_row + source.count);
    if (begin >= end) continue;
    const RowRun& run = runs[move.run];
    auto copies = job.copies_of(run, by);
    RowSums* const sums = job.sums(run);
    const std::byte* at = source.data + (begin - source.first_row) * source.stride_bytes;
    std::byte* place = run.fields[job.array] + (move.place + (begin - first)) * job.row_bytes;
    const std::uint64_t together = whole_runs ? end - begin : 1;
    const bool repeated = source.stride_bytes == 0;  // one row in the place of many: its address says nothing of which
    for (std::uint64_t row = begin; row < end; row += together) {
      if (whole_runs)
        copy_run(place, at, together * job.row_bytes);
      else
        copy(place, at);
      const std::uint64_t number = copies.saw(at, place, together, repeated ? row - source.first_row : 0);
      if (sums)
        for (std::uint64_t k = 0; k < together; ++k) sums->add(number + k);
      at += together * source.stride_bytes;
      place += together * job.row_bytes;
    }
    copied += end - begin;
    job.add(run, copies.hash());
  }
  return copied;
}

/// Return the first of `moves` that is_behind() holds for, of which the last ones are; near the front as a rule.
template <class Behind>
std::span<const Move>::iterator skip_to(std::span<const Move> moves, Behind is_behind) {
  std::size_t step = 1, from = 0;
  while (from + step < moves.size() && !is_behind(moves[from + step])) from += step, step *= 2;
  const auto end = moves.begin() + static_cast<std::ptrdiff_t>(std::min(from + step + 1, moves.size()));
  return std::partition_point(moves.begin() + static_cast<std::ptrdiff_t>(from), end,
                              [&](const Move& m) { return !is_behind(m); });
}

/// Rows in several runs. Both runs and moves ascend. \return Rows copied.
template <class Copy, class By>
std::uint64_t put_runs(const FieldRows& from, std::uint64_t first_row, std::size_t row_bytes, std::size_t array,
                       const Wanted& wanted, Copy copy, const By& by) {
  std::uint64_t copied = 0;
  std::span<const Move> left = wanted.moves;
  for (const PieceRun& run : from.runs) {
    const RowsAt rows = from.run_at(run);
    const std::uint64_t begin = rows.first_row - std::min(first_row, rows.first_row);
    const std::uint64_t end = rows.first_row + rows.count - std::min(first_row, rows.first_row + rows.count);
    const auto first = skip_to(left, [&](const Move& m) { return m.row + std::uint64_t{wanted.longest_move} > begin; });
    left = {first, left.end()};
    if (left.empty()) break;
    const auto last = skip_to(left, [&](const Move& m) { return m.row >= end; });
    const FieldRows part{rows, from.geometry, from.weight, from.counts_rows};
    const Job job{part, first_row, row_bytes, array};
    const bool whole_runs = rows.stride_bytes == row_bytes && (!from.geometry || lies_dense(*from.geometry, row_bytes));
    copied += put_moves(job, {left.begin(), last}, wanted.runs, whole_runs, copy, by);
  }
  return copied;
}

/// Rows of no bytes: there is nothing to copy and no address of a copy.
void count_row(const Job& job, const RowRun& run, std::uint64_t number, std::uint64_t place, std::uint64_t count) {
  job.add(run, run_hash(number, run.first_position + place, count));
  if (RowSums* const sums = job.sums(run))
    for (std::uint64_t i = 0; i < count; ++i) sums->add(number + i);
}
void put_nothing(const Job& job, const Wanted& wanted) {
  const std::uint64_t source_begin = job.from.rows.first_row, source_end = source_begin + job.from.rows.count;
  for (const RowRun& run : wanted.moves.empty() ? wanted.runs : std::span<const RowRun>())
    for (std::uint32_t i = run.begin; i < run.end; ++i) {
      const std::uint64_t number = job.first_row + wanted.requests[i].item;
      if (number >= source_begin && number < source_end) count_row(job, run, number, wanted.requests[i].position, 1);
    }
  for (const Move& move : wanted.moves) {
    const std::uint64_t first = job.first_row + move.row, begin = std::max(first, source_begin);
    const std::uint64_t end = std::min(first + move.count, source_end);
    if (begin < end) count_row(job, wanted.runs[move.run], begin, move.place + (begin - first), end - begin);
  }
}

}  // namespace

Sink::Sink(const std::vector<StoredColumn>& columns, std::shared_ptr<const Program> program, std::size_t first_column)
    : program_(std::move(program)), first_column_(first_column) {
  for (const StoredColumn& c : columns) {
    row_bytes_.emplace_back(std::max<std::uint64_t>(c.row_bytes(), 1));
    empty_.push_back(c.row_bytes() == 0);
  }
  for (std::size_t c = 0; program_ && c < columns.size(); ++c) {
    const RowProgram* const row = row_program(c);
    made_bytes_.push_back(row ? Divisor(program_->fields()[array_of(c)].row_bytes()) : row_bytes_[c]);
    const std::size_t item = columns[c].dtype.itemsize;
    alignments_.push_back(row && row->takes_rows() && std::has_single_bit(item) ? std::min(item, kLargestNumber)
                                                                                : kLargestNumber);
  }
}

SinkWork Sink::put(std::size_t field, const FieldRows& from, std::uint64_t first_row, const Wanted& wanted) const {
  const Divisor row_bytes = row_bytes_[field];
  if (const RowProgram* const program = row_program(field)) {
    const auto put = [&](const FieldRows& rows) {
      return put_transformed(
          {*program, rows, row_bytes.value(), array_of(field), made_bytes_[field], alignments_[field]}, first_row,
          wanted);
    };
    if (from.runs.empty()) return put(from);
    SinkWork work;
    for (const PieceRun& run : from.runs) {
      SinkWork part = put({from.run_at(run), from.geometry, from.weight, from.counts_rows});
      work.written_bytes += part.written_bytes;
      work.requests_scanned += part.requests_scanned;
      std::ranges::move(part.failures, std::back_inserter(work.failures));
    }
    return work;
  }
  const Job job{from, first_row, row_bytes.value(), array_of(field)};
  const std::size_t filled = from.geometry ? from.geometry->filled_bytes() : row_bytes.value();
  std::uint64_t requests_scanned = wanted.requests.size() + wanted.moves.size();
  if (empty_[field]) {
    if (from.runs.empty()) put_nothing(job, wanted);
    for (const PieceRun& run : from.runs) {
      const FieldRows part{from.run_at(run), from.geometry, from.weight, from.counts_rows};
      put_nothing({part, first_row, row_bytes.value(), array_of(field)}, wanted);
    }
    return {0, requests_scanned};
  }
  std::uint64_t rows = 0;
  if (!from.runs.empty()) {
    const RowsAt first = from.run_at(from.runs.front());
    with_kernel(first, from.geometry, row_bytes, [&](auto copy, const auto& by) {
      rows = put_runs(from, first_row, row_bytes.value(), array_of(field), wanted, copy, by);
    });
    return {rows * filled, requests_scanned};
  }
  with_kernel(from.rows, from.geometry, row_bytes, [&](auto copy, const auto& by) {
    if (wanted.moves.empty()) {
      rows = put_rows(job, wanted.requests, wanted.runs, copy, by);
      return;
    }
    const bool whole_runs = from.rows.stride_bytes == row_bytes.value() &&
                            (!from.geometry || lies_dense(*from.geometry, row_bytes.value()));
    const std::span<const Move> near = moves_near(wanted, from.rows, first_row);
    requests_scanned = near.size();
    rows = put_moves(job, near, wanted.runs, whole_runs, copy, by);
  });
  return {rows * filled, requests_scanned};
}

}  // namespace headrace
