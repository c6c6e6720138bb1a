#include "assembly/sink.h"

#include <algorithm>
#include <cstring>

#include "assembly/row_copy.h"

namespace headrace {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kAhead = 12;      // rows that are on their way from memory while one is copied
constexpr std::size_t kLinesAhead = 4;  // of a row: the processor itself goes on from there

/// Rows of a size that the compiler knows.
template <std::size_t kBytes>
struct FixedCopy {
  void operator()(std::byte* to, const std::byte* from) const { std::memcpy(to, from, kBytes); }
};
struct RunCopy {
  std::size_t bytes;
  void operator()(std::byte* to, const std::byte* from) const { copy_run(to, from, bytes); }
};
/// Rows that lie in strides, or partly.
struct NestCopy {
  const RowGeometry& geometry;
  void operator()(std::byte* to, const std::byte* from) const { copy_row(geometry, to, from); }
};

bool is_dense(const RowGeometry& g, std::size_t row_bytes) {
  return g.loops.empty() && g.src_offset_bytes == 0 && g.dst_offset_bytes == 0 && g.run_bytes == row_bytes;
}

/// How rows are told from addresses: by sizes that the compiler knows, or that follow from the data.
template <class RowDivisor>
struct Divisors {
  RowDivisor stride, row_bytes;
};

/// Call `work` with the kernel for rows of this shape, and what tells them from addresses.
template <class Work>
void with_kernel(const FieldRows& from, const Divisor& row_bytes, Work work) {
  const std::uint64_t bytes = row_bytes.value(), apart = std::max<std::size_t>(from.rows.stride_bytes, 1);
  const Divisors<Divisor> any{apart == bytes ? row_bytes : Divisor(apart), row_bytes};
  if (from.geometry && !is_dense(*from.geometry, bytes)) return work(NestCopy{*from.geometry}, any);
  if (apart != bytes) return work(RunCopy{bytes}, any);
  const auto fixed = [&]<std::size_t kBytes>(FixedCopy<kBytes> copy) { work(copy, Divisors<KnownDivisor<kBytes>>{}); };
  switch (bytes) {
    case 1:
      return fixed(FixedCopy<1>{});
    case 2:
      return fixed(FixedCopy<2>{});
    case 4:
      return fixed(FixedCopy<4>{});
    case 8:
      return fixed(FixedCopy<8>{});
    case 16:
      return fixed(FixedCopy<16>{});
    case 32:
      return fixed(FixedCopy<32>{});
    case 64:
      return fixed(FixedCopy<64>{});
    case 128:
      return fixed(FixedCopy<128>{});
    default:
      return work(RunCopy{bytes}, any);
  }
}

/// What the kernels of one field work on.
struct Job {
  const FieldRows& from;
  const std::uint64_t first_row;  // number of row 0 of the requests
  const std::size_t row_bytes;
  const std::size_t field;

  template <class RowDivisor>
  CopyWitness<RowDivisor> witness(const RowRun& run, const Divisors<RowDivisor>& by) const {
    return {from.rows, by.stride, run.fields[field], run.first_position, by.row_bytes};
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
    auto seen = job.witness(run, by);
    RowSums* const sums = job.sums(run);
    std::byte* const to = run.fields[job.field];
    for (std::uint32_t i = run.begin; i < run.end; ++i) {
      const std::uint64_t row = requests[i].row + shift;  // wraps for rows before the source, is too large then
      if (row >= source.count) continue;
      const std::byte* const at = source.data + row * source.stride_bytes;
      std::byte* const place = to + requests[i].position * job.row_bytes;
      copy(place, at);
      const std::uint64_t number = seen.saw(at, place);
      if (sums) sums->add(number);
      ++copied;
    }
    job.add(run, seen.hash());
  }
  return copied;
}

/// Moves by ascending row; each may lie partly in the source. \return Rows copied.
template <class Copy, class By>
std::uint64_t put_moves(const Job& job, std::span<const Move> moves, std::span<const RowRun> runs, bool whole_runs,
                        Copy copy, const By& by) {
  const RowsAt& source = job.from.rows;
  std::uint64_t copied = 0;
  for (const Move& move : moves) {
    const std::uint64_t first = job.first_row + move.row;
    const std::uint64_t begin = std::max(first, source.first_row);
    const std::uint64_t end = std::min(first + move.count, source.first_row + source.count);
    if (begin >= end) continue;
    const RowRun& run = runs[move.run];
    auto seen = job.witness(run, by);
    RowSums* const sums = job.sums(run);
    const std::byte* at = source.data + (begin - source.first_row) * source.stride_bytes;
    std::byte* place = run.fields[job.field] + (move.place + (begin - first)) * job.row_bytes;
    const std::uint64_t together = whole_runs ? end - begin : 1;
    for (std::uint64_t row = begin; row < end; row += together) {
      if (whole_runs)
        copy_run(place, at, together * job.row_bytes);
      else
        copy(place, at);
      const std::uint64_t number = seen.saw(at, place, together);
      if (sums)
        for (std::uint64_t i = 0; i < together; ++i) sums->add(number + i);
      at += together * source.stride_bytes;
      place += together * job.row_bytes;
    }
    copied += end - begin;
    job.add(run, seen.hash());
  }
  return copied;
}

/// Return the moves that may touch the source's rows.
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

/// Rows of no bytes: there is nothing to copy and nothing to witness.
void count_row(const Job& job, const RowRun& run, std::uint64_t number, std::uint64_t place, std::uint64_t count) {
  job.add(run, run_hash(number, run.first_position + place, count));
  if (RowSums* const sums = job.sums(run))
    for (std::uint64_t i = 0; i < count; ++i) sums->add(number + i);
}
void put_nothing(const Job& job, const Wanted& wanted) {
  const std::uint64_t source_begin = job.from.rows.first_row, source_end = source_begin + job.from.rows.count;
  for (const RowRun& run : wanted.moves.empty() ? wanted.runs : std::span<const RowRun>())
    for (std::uint32_t i = run.begin; i < run.end; ++i) {
      const std::uint64_t number = job.first_row + wanted.requests[i].row;
      if (number >= source_begin && number < source_end) count_row(job, run, number, wanted.requests[i].position, 1);
    }
  for (const Move& move : wanted.moves) {
    const std::uint64_t first = job.first_row + move.row, begin = std::max(first, source_begin);
    const std::uint64_t end = std::min(first + move.count, source_end);
    if (begin < end) count_row(job, wanted.runs[move.run], begin, move.place + (begin - first), end - begin);
  }
}

}  // namespace

Sink::Sink(const std::vector<StoredColumn>& fields) {
  for (const StoredColumn& f : fields) {
    row_bytes_.emplace_back(std::max<std::uint64_t>(f.row_bytes(), 1));
    empty_.push_back(f.row_bytes() == 0);
  }
}

std::uint64_t Sink::put(std::size_t field, const FieldRows& from, std::uint64_t first_row, const Wanted& wanted) const {
  const Divisor row_bytes = row_bytes_[field];
  const Job job{from, first_row, row_bytes.value(), field};
  const std::size_t filled = from.geometry ? from.geometry->filled_bytes() : row_bytes.value();
  if (empty_[field]) return put_nothing(job, wanted), 0;
  std::uint64_t rows = 0;
  with_kernel(from, row_bytes, [&](auto copy, const auto& by) {
    if (wanted.moves.empty()) {
      rows = put_rows(job, wanted.requests, wanted.runs, copy, by);
      return;
    }
    const bool whole_runs =
        from.rows.stride_bytes == row_bytes.value() && (!from.geometry || is_dense(*from.geometry, row_bytes.value()));
    rows = put_moves(job, moves_near(wanted, from.rows, first_row), wanted.runs, whole_runs, copy, by);
  });
  return rows * filled;
}

void Sink::gather(std::size_t field, const FieldRows& from, std::span<const std::uint64_t> rows,
                  std::span<const std::uint64_t> distances, std::uint64_t first_place, const RowRun& to) const {
  const Divisor row_bytes = row_bytes_[field];
  const Job job{from, from.rows.first_row, row_bytes.value(), field};
  if (empty_[field]) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      count_row(job, to, from.rows.first_row + rows[i] + distances[i], first_place + i, 1);
    return;
  }
  const std::size_t lines = std::min((row_bytes.value() + kLine - 1) / kLine, kLinesAhead);
  const auto at = [&](std::size_t i) { return from.rows.data + rows[i] * job.row_bytes; };
  // Inlined by force: GCC 12 takes a function that only prefetches for one that does nothing, and drops its calls.
  const auto ask = [&](std::size_t i) __attribute__((always_inline)) {
    for (std::size_t line = 0; line < lines; ++line) __builtin_prefetch(at(i) + line * kLine);
  };
  std::byte* const base = to.fields[field] + first_place * job.row_bytes;
  RowSums* const sums = job.sums(to);
  with_kernel(from, row_bytes, [&](auto copy, const auto& by) {
    auto seen = job.witness(to, by);
    for (std::size_t i = 0; i < std::min(kAhead, rows.size()); ++i) ask(i);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i + kAhead < rows.size()) ask(i + kAhead);
      const std::byte* const source = at(i);
      std::byte* const place = base + i * job.row_bytes;
      copy(place, source);
      const std::uint64_t number = seen.saw(source, place, 1, distances[i]);
      if (sums) sums->add(number);
    }
    job.add(to, seen.hash());
  });
}

}  // namespace headrace
