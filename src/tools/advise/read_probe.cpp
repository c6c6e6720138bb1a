#include "tools/advise/read_probe.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "assembly/ahead/read_job.h"
#include "assembly/ahead/reader_count.h"
#include "base/clock.h"
#include "base/threads/parallel.h"
#include "storage/read_batch.h"

namespace headrace {
namespace {

constexpr std::size_t kEnoughBlocks = 16;  // to read some of them and others again
constexpr double kColdSeconds = 0.2, kWarmSeconds = 0.08;
constexpr double kLateCold = 2;        // more time, where files answer late
constexpr std::size_t kLoneReads = 5;  // that show how late

/// Ask the system to forget what it keeps of the blocks' bytes. Only a hint, and only this machine's memory.
bool drop_cache(std::span<const SampledBlock> blocks) {
  bool all = !blocks.empty();
  for (const SampledBlock& b : blocks)
    for (const auto& [array, pieces] : b.arrays)
      for (std::size_t i = 0; i < pieces.size();) {
        const RandomAccessFile* const file = pieces[i].stored.file;
        const int fd = file != nullptr ? ::open(file->name().c_str(), O_RDONLY | O_CLOEXEC) : -1;
        all = all && (file == nullptr || fd >= 0);
        for (; i < pieces.size() && pieces[i].stored.file == file; ++i) {
          const ByteRange& range = pieces[i].stored.range;
          if (fd < 0 || range.size == 0) continue;
          all = ::posix_fadvise(fd, static_cast<off_t>(range.offset), static_cast<off_t>(range.size),
                                POSIX_FADV_DONTNEED) == 0 &&
                all;
        }
        if (fd >= 0) ::close(fd);
      }
  return all;
}

/// As the engine does: the pieces of an array in few reads.
Status read_block(const SampledBlock& block, ReadBatch& batch, std::vector<std::byte>& buffer) {
  std::vector<FileRange> ranges;
  for (const auto& [array, pieces] : block.arrays) {
    ranges.clear();
    for (const Piece& p : pieces) ranges.push_back(p.stored);
    HEADRACE_ASSIGN(const std::uint64_t bytes, batch.plan(ranges));
    if (bytes == 0) continue;
    if (buffer.size() < bytes) buffer.resize(bytes);
    HEADRACE_TRY(batch.read(buffer));
  }
  return {};
}

struct Pass {
  std::uint64_t blocks = 0, bytes = 0;
  double seconds = 0;
  [[nodiscard]] double rate() const { return seconds > 0 ? static_cast<double>(bytes) / seconds : 0; }
};

/// The reads that a loader makes ahead of decoding.
std::vector<FileRange> steps_of(std::span<const SampledBlock> blocks) {
  std::vector<FileRange> steps, ranges;
  for (const SampledBlock& block : blocks)
    for (const auto& [array, pieces] : block.arrays) {
      ranges.clear();
      for (const Piece& p : pieces) ranges.push_back(p.stored);
      ReadBatch batch;
      if (!batch.plan(ranges).ok()) continue;  // reading it tells why
      for (const FileRange& merged : batch.merged())
        for (const ByteRange step : ReadJob::steps_of(merged.range)) steps.emplace_back(merged).range = step;
    }
  return steps;
}

/// Make some of the reads, one after the other. \return The median of the seconds that they took.
Result<double> read_alone(std::span<const FileRange> steps) {
  std::vector<std::byte> buffer(ReadJob::kStepBytes);
  std::vector<double> seconds;
  const std::size_t reads = std::min(kLoneReads, steps.size());
  for (std::size_t i = 0; i < reads; ++i) {
    const FileRange& step = steps[i * steps.size() / reads];
    const std::uint64_t start = now_ns();
    HEADRACE_TRY(read_range(step, std::span(buffer).first(step.range.size)));
    seconds.push_back(static_cast<double>(now_ns() - start) * 1e-9);
  }
  if (seconds.empty()) return 0.0;
  std::ranges::nth_element(seconds, seconds.begin() + static_cast<std::ptrdiff_t>(reads / 2));
  return seconds[reads / 2];
}

/// Make all of the reads, so many at once, for `seconds` at most. The sample may be too small for all to be in flight:
/// what they bring follows from how long each takes.
Result<Pass> read_steps(std::span<const FileRange> steps, std::uint32_t in_flight, double seconds) {
  std::atomic<std::uint64_t> next{0}, bytes{0}, read_ns{0};
  const std::uint64_t limit = now_ns() + static_cast<std::uint64_t>(seconds * 1e9);
  const Status done = run_parallel(static_cast<int>(in_flight), "hr-probe", [&](int, std::stop_token stop) -> Status {
    std::vector<std::byte> buffer(ReadJob::kStepBytes);
    for (std::uint64_t i; !stop.stop_requested() && now_ns() < limit && (i = next.fetch_add(1)) < steps.size();) {
      const std::uint64_t start = now_ns();
      HEADRACE_TRY(read_range(steps[i], std::span(buffer).first(steps[i].range.size)));
      read_ns += now_ns() - start;
      bytes += steps[i].range.size;
    }
    return {};
  });
  if (!done.ok()) return done.error();
  return Pass{0, bytes, static_cast<double>(read_ns) * 1e-9 / in_flight};
}

Result<Pass> read_all(std::span<const SampledBlock> blocks, std::uint32_t threads, double seconds) {
  std::atomic<std::uint64_t> next{0}, bytes{0};
  const std::uint64_t start = now_ns(), limit = start + static_cast<std::uint64_t>(seconds * 1e9);
  const Status done = run_parallel(static_cast<int>(threads), "hr-probe", [&](int, std::stop_token stop) -> Status {
    ReadBatch batch;
    std::vector<std::byte> buffer;
    bool first = true;
    while (!stop.stop_requested() && (first || now_ns() < limit)) {
      const std::uint64_t i = next.fetch_add(1);
      if (i >= blocks.size()) break;
      HEADRACE_TRY(read_block(blocks[i], batch, buffer));
      bytes += blocks[i].stored_bytes;
      first = false;
    }
    return {};
  });
  if (!done.ok()) return done.error();
  return Pass{std::min<std::uint64_t>(next, blocks.size()), bytes, static_cast<double>(now_ns() - start) * 1e-9};
}

}  // namespace

SplitSample split_sample(std::span<const SampledBlock> sample) {
  SplitSample split;
  const bool enough = sample.size() >= kEnoughBlocks;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    if (!enough || i % 2 == 0) split.cold.push_back(sample[i]);
    if (!enough || i % 2 == 1) split.warm.push_back(sample[i]);
  }
  return split;
}

Result<ReadProbe> probe_reads(const SplitSample& sample, std::uint32_t threads, std::uint32_t reads_in_flight,
                              double effort) {
  const std::span<const SampledBlock> cold = sample.cold, warm = sample.warm;
  const double cold_seconds = effort * kColdSeconds, warm_seconds = effort * kWarmSeconds;
  ReadProbe out;
  out.dropped = drop_cache(cold);
  const std::vector<FileRange> steps = steps_of(cold);
  HEADRACE_ASSIGN(out.seconds_a_read, read_alone(steps));
  out.in_flight = !out.late() ? threads : reads_in_flight > 0 ? reads_in_flight : ReaderCount::kMost;
  HEADRACE_ASSIGN(const Pass first, out.late() ? read_steps(steps, out.in_flight, kLateCold * cold_seconds)
                                               : read_all(cold, threads, cold_seconds));
  out.bytes = first.bytes;
  out.cold_bytes_per_s = first.rate();
  if (out.late()) HEADRACE_TRY(read_steps(steps_of(warm), out.in_flight, kLateCold * cold_seconds));
  HEADRACE_ASSIGN(const Pass filling, read_all(warm, threads, cold_seconds));
  out.blocks = filling.blocks;
  if (filling.bytes == 0) return out;
  const std::uint64_t until = now_ns() + static_cast<std::uint64_t>(warm_seconds * 1e9);
  for (int i = 0; i == 0 || (i < 8 && now_ns() < until); ++i) {
    HEADRACE_ASSIGN(const Pass again, read_all(warm.first(filling.blocks), threads, warm_seconds));
    out.warm_bytes_per_s = std::max(out.warm_bytes_per_s, again.rate());
  }
  return out;
}

}  // namespace headrace
