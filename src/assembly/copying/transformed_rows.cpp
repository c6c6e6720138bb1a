#include "assembly/copying/transformed_rows.h"

#include <algorithm>

#include "assembly/copying/prefetch.h"
#include "assembly/copying/row_copy.h"
#include "assembly/copying/row_kernels.h"

namespace headrace {
namespace {

constexpr std::uint64_t kTileBytes = 16 << 10;  // of rows that are made dense at once

/// Makes a row dense and aligned, if it is not.
class DenseRow {
 public:
  explicit DenseRow(const TransformedRows& job) : geometry_(job.from.geometry), row_bytes_(job.row_bytes) {
    is_dense_ = !geometry_ || lies_dense(*geometry_, row_bytes_);
    const bool aligned = reinterpret_cast<std::uintptr_t>(job.from.rows.data) % job.alignment == 0 &&
                         job.from.rows.stride_bytes % job.alignment == 0;
    in_place_ = is_dense_ && aligned;
  }
  /// Return whether rows lie one behind the other as they are to.
  [[nodiscard]] bool in_place(std::size_t stride_bytes) const { return in_place_ && stride_bytes == row_bytes_; }
  /// The same for several rows.
  const std::byte* of(const std::byte* rows, std::size_t stride_bytes, std::uint64_t count) {
    std::byte* const dense = room(count * row_bytes_);
    for (std::uint64_t i = 0; i < count; ++i) put(rows + i * stride_bytes, dense + i * row_bytes_);
    return dense;
  }
  const std::byte* of(const std::byte* row) {
    if (in_place_) return row;
    std::byte* const dense = room(row_bytes_);
    put(row, dense);
    return dense;
  }

 private:
  void put(const std::byte* row, std::byte* dense) const {
    if (is_dense_)
      std::copy_n(row, row_bytes_, dense);
    else
      copy_row(*geometry_, dense, row);
  }
  static std::byte* room(std::uint64_t bytes) {
    thread_local std::vector<std::uint64_t> rows;
    const std::uint64_t words = (bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
    if (rows.size() < words) rows.resize(words);
    return reinterpret_cast<std::byte*>(rows.data());
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
  /// Rows of a ragged field: some of a sample's.
  Status transform_rows(const std::byte* rows, std::uint64_t place, std::uint64_t count, std::uint64_t distance) {
    const std::size_t stride_bytes = job_.from.rows.stride_bytes;
    const std::uint64_t tile =
        dense_.in_place(stride_bytes) ? count : std::max<std::uint64_t>(kTileBytes / job_.row_bytes, 1);
    for (std::uint64_t done = 0; done < count; done += tile) {
      const std::uint64_t some = std::min(tile, count - done);
      const std::byte* const from = rows + done * stride_bytes;
      // Rows that are one in the place of many have an address only by their distance.
      const std::uint64_t together = stride_bytes == 0 ? 1 : some;
      for (std::uint64_t i = 0; i < some; i += together) {
        const std::uint64_t number =
            copies_.saw(from + i * stride_bytes, to_.fields[job_.array] + (place + done + i) * job_.made_bytes.value(),
                        together, stride_bytes == 0 ? distance + done + i : distance);
        for (std::uint64_t k = 0; job_.from.counts_rows && to_.digest && k < together; ++k)
          to_.digest->sums.add(number + k);
      }
      const std::byte* const dense = dense_.in_place(stride_bytes) ? from : dense_.of(from, stride_bytes, some);
      HEADRACE_TRY(job_.program.run({to_.seed, to_.epoch, 0}, {&dense, 1}, to_.fields, place + done, some));
    }
    return {};
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
    if (job.program.takes_rows()) {
      const std::uint64_t distance = source.stride_bytes == 0 ? begin - source.first_row : 0;
      Status done = run.transform_rows(row_at(begin), move.place + (begin - first), end - begin, distance);
      if (!done.ok()) work.failures.push_back({{begin - first_row, end - begin}, std::move(done.error())});
      work.written_bytes += (end - begin) * job.made_bytes.value();
    } else {
      for (std::uint64_t number = begin; number < end; ++number) put(run, number, move.place + (number - first));
    }
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
