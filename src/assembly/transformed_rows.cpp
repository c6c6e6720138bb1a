#include "assembly/transformed_rows.h"

#include <algorithm>

#include "assembly/prefetch.h"
#include "assembly/row_copy.h"
#include "assembly/row_kernels.h"

namespace headrace {
namespace {

constexpr std::size_t kLargestNumber = 8;  // kernels take rows that are aligned for any type

/// Makes a row dense and aligned, if it is not.
class DenseRow {
 public:
  explicit DenseRow(const TransformedRows& job) : geometry_(job.from.geometry), row_bytes_(job.row_bytes) {
    is_dense_ = !geometry_ || lies_dense(*geometry_, row_bytes_);
    const bool aligned = reinterpret_cast<std::uintptr_t>(job.from.rows.data) % kLargestNumber == 0 &&
                         job.from.rows.stride_bytes % kLargestNumber == 0;
    in_place_ = is_dense_ && aligned;
  }
  const std::byte* of(const std::byte* row) {
    if (in_place_) return row;
    const std::size_t words = (row_bytes_ + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
    if (memory().size() < words) memory().resize(words);
    auto* const dense = reinterpret_cast<std::byte*>(memory().data());
    if (is_dense_)
      std::copy_n(row, row_bytes_, dense);
    else
      copy_row(*geometry_, dense, row);
    return dense;
  }

 private:
  static std::vector<std::uint64_t>& memory() {
    thread_local std::vector<std::uint64_t> row;
    return row;
  }
  const RowGeometry* const geometry_;
  const std::size_t row_bytes_;
  bool is_dense_ = true, in_place_ = true;
};

/// What goes to one batch.
class Run {
 public:
  Run(const TransformedRows& job, const RowRun& to)
      : job_(job),
        to_(to),
        copies_(job.from.rows, Divisor(std::max<std::size_t>(job.from.rows.stride_bytes, 1)), to.fields[job.array],
                to.first_position, job.made_bytes),
        dense_(job) {}

  Status transform(const std::byte* row, std::uint64_t place, std::uint64_t distance = 0) {
    const std::uint64_t number =
        copies_.saw(row, to_.fields[job_.array] + place * job_.made_bytes.value(), 1, distance);
    if (job_.from.counts_rows && to_.digest) to_.digest->sums.add(number);
    const std::byte* const dense = dense_.of(row);
    return job_.program.run({to_.seed, to_.epoch, number}, {&dense, 1}, to_.fields, place);
  }
  [[nodiscard]] std::uint64_t hash() const { return copies_.hash(); }

 private:
  const TransformedRows& job_;
  const RowRun& to_;
  CopyDigest<Divisor> copies_;
  DenseRow dense_;
};

}  // namespace

SinkWork put_transformed(const TransformedRows& job, std::uint64_t first_row, const Wanted& wanted) {
  const RowsAt& source = job.from.rows;
  const std::span<const Move> moves = moves_near(wanted, source, first_row);
  SinkWork work{0, wanted.requests.size() + moves.size()};
  const auto row_at = [&](std::uint64_t number) {
    return source.data + (number - source.first_row) * source.stride_bytes;
  };
  const auto put = [&](Run& run, std::uint64_t number, std::uint64_t place) {
    // One row in the place of many: its address says nothing of which.
    const std::uint64_t distance = source.stride_bytes == 0 ? number - source.first_row : 0;
    if (Status done = run.transform(row_at(number), place, distance); !done.ok())
      work.failures.push_back({{number - first_row, 1}, std::move(done.error())});
    work.written_bytes += job.made_bytes.value();
  };
  const auto add = [&](const RowRun& to, const Run& run) {
    if (to.digest) to.digest->placed += run.hash() * job.from.weight;
  };
  if (wanted.moves.empty())
    for (const RowRun& to : wanted.runs) {
      Run run(job, to);
      for (std::uint32_t i = to.begin; i < to.end; ++i) {
        const std::uint64_t number = first_row + wanted.requests[i].item;
        if (number - source.first_row < source.count) put(run, number, wanted.requests[i].position);
      }
      add(to, run);
    }
  for (const Move& move : moves) {
    const std::uint64_t first = first_row + move.row;
    const std::uint64_t begin = std::max(first, source.first_row);
    const std::uint64_t end = std::min(first + move.count, source.first_row + source.count);
    if (begin >= end) continue;
    Run run(job, wanted.runs[move.run]);
    for (std::uint64_t number = begin; number < end; ++number) put(run, number, move.place + (number - first));
    add(wanted.runs[move.run], run);
  }
  return work;
}

std::uint64_t gather_transformed(const TransformedRows& job, std::span<const std::uint64_t> rows,
                                 std::span<const std::uint64_t> distances, std::uint64_t first_place, const RowRun& to,
                                 std::vector<RowFailure>& failures) {
  const RowsAt& source = job.from.rows;
  Run run(job, to);
  const std::size_t lines = std::min((job.row_bytes + kCacheLineBytes - 1) / kCacheLineBytes, kLinesAhead);
  const auto at = [&](std::size_t i) { return source.data + rows[i] * source.stride_bytes; };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i + kRowsAhead < rows.size())
      for (std::size_t line = 0; line < lines; ++line) __builtin_prefetch(at(i + kRowsAhead) + line * kCacheLineBytes);
    const std::uint64_t place = first_place + i;
    if (Status done = run.transform(at(i), place, distances.empty() ? 0 : distances[i]); !done.ok())
      failures.push_back({{place, 1}, std::move(done.error())});
  }
  return run.hash();
}

}  // namespace headrace
