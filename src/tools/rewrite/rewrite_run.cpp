#include "tools/rewrite/rewrite_run.h"

#include <fmt/format.h>
#include <headrace/bytes.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "assembly/copying/row_copy.h"
#include "base/clock.h"
#include "base/memory/memory_budget.h"
#include "base/random/keyed_permutation.h"
#include "storage/file_system.h"
#include "tools/rewrite/chunk_writer.h"
#include "tools/rewrite/row_scan.h"
#include "tools/rewrite/segment_sums.h"
#include "tools/rewrite/verify_file.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kWindowBytes = mebibytes(256);  // in order, more gains nothing
constexpr std::uint64_t kSaveBytes = mebibytes(256);    // that a kill may cost
constexpr std::uint64_t kSaveNs = 3'000'000'000;
constexpr std::uint64_t kOrder = 0x72657772697465;  // "rewrite": apart from the keys of samplers

std::uint64_t largest_row_bytes(const RewriteFile& file) {
  std::uint64_t most = 0;
  for (const RewriteArray& array : file.arrays)
    if (array.is_shuffled) most = std::max(most, array.row_bytes);
  return most;
}

/// Files that may be open at once, each with its source: a quarter of what the process may have.
std::size_t most_open_files() {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return 1024;
  return std::max<std::size_t>(limit.rlim_cur / 4, 1);
}

/// Files that are written at once: one, or, shuffled, as many as the window holds of their largest array.
std::vector<std::vector<std::size_t>> groups_of(const RewritePlan& plan, const RewriteMemory& memory) {
  std::vector<std::vector<std::size_t>> groups;
  const std::size_t most_files = most_open_files();
  std::uint64_t bytes = 0;
  for (std::size_t f = 0; f < plan.files.size(); ++f) {
    const std::uint64_t own = plan.files[f].rows * largest_row_bytes(plan.files[f]);
    if (groups.empty() || !plan.options.shuffle || bytes + own > memory.window_bytes ||
        groups.back().size() >= most_files) {
      groups.emplace_back();
      bytes = 0;
    }
    groups.back().push_back(f);
    bytes += own;
  }
  return groups;
}

/// Rows that are put together at once: whole chunks of the new file and, where that fits, of the source.
std::uint64_t window_rows(const RewriteArray& array, std::uint64_t window_bytes) {
  const std::uint64_t chunk = array.chunk_rows();
  const std::uint64_t fit = std::max<std::uint64_t>(window_bytes / array.row_bytes / chunk, 1) * chunk;
  const std::uint64_t both = std::lcm(chunk, array.made.info.chunk_rows());
  return both <= fit ? fit / both * both : fit;
}

/// A file that is being written.
struct Target {
  const RewriteFile* plan = nullptr;
  std::unique_ptr<hdf5::RewrittenFile> file;  // null once closed
  RewriteRecord record;
  bool is_done = false;
  std::uint64_t unsaved_bytes = 0, saved_ns = 0;
};

/// Where rows of a window go: an array of a target, whose row 0 is row `base` of the window's numbering.
struct RunPart {
  Target* target = nullptr;
  std::size_t array = 0;
  std::uint64_t base = 0;

  [[nodiscard]] const RewriteArray& plan() const { return target->plan->arrays[array]; }
  [[nodiscard]] RewriteRecord::Array& record() const { return target->record.arrays[array]; }
  [[nodiscard]] std::uint64_t end() const { return base + plan().rows(); }
  /// Return how many rows, from the start, were written: whole chunks, or all.
  [[nodiscard]] std::uint64_t rows_done() const { return target->is_done ? plan().rows() : record().rows_done; }
};

class Rewriter {
 public:
  Rewriter(const RewritePlan& plan, const RewriteMemory& memory,
           const std::function<bool(std::uint64_t, std::uint64_t)>& progress)
      : plan_(plan),
        memory_(memory),
        progress_(progress),
        permutation_(std::max<std::uint64_t>(plan.shuffled_rows, 1), RandomKey::of({plan.options.seed, kOrder})) {
    const std::uint64_t passes = passes_of(plan, memory);
    for (const RewriteFile& file : plan.files)
      for (const RewriteArray& array : file.arrays)
        total_bytes_ += array.decoded_bytes() * (1 + (array.is_shuffled ? passes : 1));
  }

  Result<RewriteCounts> run() {
    const std::uint64_t start = now_ns();
    HEADRACE_ASSIGN(const WorkLock lock, WorkLock::take(plan_.work));
    for (const std::vector<std::size_t>& group : groups_of(plan_, memory_)) {
      Status written = write_group(group);
      if (!written.ok()) return std::move(written.error());
    }
    counts_.seconds = static_cast<double>(now_ns() - start) * 1e-9;
    return std::move(counts_);
  }

 private:
  Status write_group(const std::vector<std::size_t>& group) {
    std::vector<Target> targets(group.size());
    for (std::size_t i = 0; i < group.size(); ++i) {
      Status opened = open_target(plan_.files[group[i]], targets[i]);
      if (!opened.ok()) return opened;
    }
    if (std::all_of(targets.begin(), targets.end(), [](const Target& t) { return t.is_done; })) return {};
    Status written = write_arrays(targets);
    if (!written.ok()) {
      if (written.error().code() == ErrorCode::kCancelled)  // asked to stop: lose nothing
        for (Target& target : targets)
          if (target.file) HEADRACE_TRY(save(target));
      return written;
    }
    for (Target& target : targets)
      if (!target.is_done) HEADRACE_TRY(finish(target));
    return {};
  }

  Status open_target(const RewriteFile& plan, Target& target) {
    target.plan = &plan;
    HEADRACE_ASSIGN(const FileState state, state_of(plan_, plan));
    if (state == FileState::kDone) {
      target.is_done = true;
      ++counts_.files_found;
      HEADRACE_ASSIGN(target.record, read_record(plan.record));
      HEADRACE_TRY(give_name(plan));
      counts_.output_bytes += target.record.output.size_bytes;
      for (const RewriteArray& array : plan.arrays) counts_.rows_found += array.rows();
      return {};
    }
    std::vector<hdf5::NewArray> arrays;
    for (const RewriteArray& array : plan.arrays) arrays.push_back(array.made);
    target.saved_ns = now_ns();
    if (state == FileState::kStarted) {
      HEADRACE_ASSIGN(const PageJournal journal, read_journal(plan.journal));
      HEADRACE_ASSIGN(target.record, RewriteRecord::parse(journal.state));
      for (const RewriteRecord::Array& array : target.record.arrays) counts_.rows_found += array.rows_done;
      if (target.record.is_closed) return hdf5::RewrittenFile::restore(plan.partial, journal);
      HEADRACE_ASSIGN(target.file, hdf5::RewrittenFile::reopen(plan.partial, journal, std::move(arrays)));
      return {};
    }
    HEADRACE_ASSIGN(target.file,
                    hdf5::RewrittenFile::create(plan.is_hdf5 ? plan.source : "", plan.partial, std::move(arrays)));
    target.record.identity = identity_of(plan_, plan);
    target.record.codec = plan_.options.codec, target.record.asked = plan_.asked;
    target.record.copied = target.file->copied(), target.record.notes = target.file->notes();
    for (const RewriteArray& array : plan.arrays)
      target.record.arrays.push_back({array.made.info.path, 0, std::vector<std::uint64_t>(array.segments())});
    return save(target);
  }

  Status write_arrays(std::vector<Target>& targets) {
    for (Target& target : targets)
      for (std::size_t a = 0; a < target.plan->arrays.size(); ++a)
        if (!target.plan->arrays[a].is_shuffled) HEADRACE_TRY(write_in_order({&target, a, 0}));
    if (!plan_.options.shuffle) return {};
    for (const RewriteArray& array : targets.front().plan->arrays)
      if (array.is_shuffled) HEADRACE_TRY(write_shuffled(targets, array.made.info.path));
    return {};
  }

  Status write_in_order(const RunPart& part) {
    const RewriteArray& array = part.plan();
    const std::uint64_t step = window_rows(array, std::min(memory_.window_bytes, kWindowBytes));
    // An earlier call may have had another memory, and so other steps.
    done_bytes_ += part.rows_done() * array.row_bytes;
    for (std::uint64_t row = part.rows_done(), count = 0; row < array.rows(); row += count) {
      count = std::min(step - row % step, array.rows() - row);
      const RowSource source{array.reader.get(), {row, count}, 0};
      const std::array<std::uint64_t, 1> bases{0};
      HEADRACE_TRY(write_window(std::span(&part, 1), row, row + count, std::span(&source, 1), bases, nullptr));
      done_bytes_ += count * array.row_bytes;
    }
    return {};
  }

  Status write_shuffled(std::vector<Target>& targets, const std::string& path) {
    std::vector<RowSource> sources;
    std::vector<std::uint64_t> bases;
    std::uint64_t bytes = 0;
    const auto index_in = [&](const RewriteFile& file) {
      const auto at = std::find_if(file.arrays.begin(), file.arrays.end(),
                                   [&](const RewriteArray& a) { return a.made.info.path == path; });
      return static_cast<std::size_t>(at - file.arrays.begin());
    };
    for (const RewriteFile& file : plan_.files) {
      const RewriteArray& array = file.arrays[index_in(file)];
      sources.push_back({array.reader.get(), {0, array.rows()}, bases.size()});
      bases.push_back(file.first_row);
      bytes += array.decoded_bytes();
    }
    std::vector<RunPart> parts;
    for (Target& target : targets) parts.push_back({&target, index_in(*target.plan), target.plan->first_row});
    // One window for all files of the group, or several for the only one.
    const RewriteArray& first = parts.front().plan();
    const std::uint64_t from = parts.front().base, end = parts.back().end();
    const std::uint64_t step =
        (end - from) * first.row_bytes <= memory_.window_bytes
            ? end - from
            : std::max<std::uint64_t>(memory_.window_bytes / first.row_bytes / first.chunk_rows(), 1) *
                  first.chunk_rows();
    const auto open =
        std::find_if(parts.begin(), parts.end(), [](const RunPart& p) { return p.rows_done() < p.plan().rows(); });
    std::uint64_t row = open == parts.end() ? end : open->base + open->rows_done();
    done_bytes_ += (row - from) / step * bytes;
    for (; row < end; row += step) {
      HEADRACE_TRY(write_window(parts, row, std::min(row + step, end), sources, bases, &permutation_));
      done_bytes_ += bytes;
    }
    return {};
  }

  /// Collect rows [first, last) of the parts' numbering from all rows of `sources`, and write them.
  /// \param bases  Number of row 0 of each source; a row's place is its number, or what the permutation makes of it.
  Status write_window(std::span<const RunPart> parts, std::uint64_t first, std::uint64_t last,
                      std::span<const RowSource> sources, std::span<const std::uint64_t> bases,
                      const KeyedPermutation* permutation) {
    const RewriteArray& like = parts.front().plan();
    const std::uint64_t row_bytes = like.row_bytes;
    window_.resize((last - first) * row_bytes);
    std::vector<std::unique_ptr<SegmentSums>> sums;
    for (const RunPart& part : parts) sums.push_back(std::make_unique<SegmentSums>(part.plan()));
    const auto visit = [&](const ScannedPiece& piece) -> Status {
      const RowGeometry geometry = piece.source.reader->geometry(piece.piece.across, 0);
      std::array<std::uint64_t, 512> places;
      for (std::uint64_t done = 0; done < piece.rows.count; done += places.size()) {
        const std::uint64_t count = std::min<std::uint64_t>(places.size(), piece.rows.count - done);
        const std::uint64_t number = bases[piece.source.number] + piece.rows.first + done;
        if (permutation != nullptr)
          permutation->fill(number, std::span(places).first(count));
        else
          std::iota(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(count), number);
        for (std::uint64_t i = 0; i < count; ++i) {
          const std::uint64_t place = places[i];
          if (place < first || place >= last) continue;
          const std::size_t p = part_of(parts, place);
          if (place - parts[p].base < parts[p].rows_done()) continue;  // its digest is in the sums already
          const std::byte* const from = piece.row(piece.rows.first + done + i);
          std::byte* const to = window_.data() + (place - first) * row_bytes;
          if (like.by_element)
            copy_row(geometry, to, from);
          else
            std::memcpy(to, from, row_bytes);
          sums[p]->add(place - parts[p].base, geometry, from);
        }
      }
      finish_streaming();
      return {};
    };
    HEADRACE_TRY(scan_rows(sources, memory_.threads, visit, [&](std::uint64_t bytes) { return tick(bytes); }));
    for (std::size_t p = 0; p < parts.size(); ++p) HEADRACE_TRY(write_part(parts[p], *sums[p], first, last));
    return {};
  }

  static std::size_t part_of(std::span<const RunPart> parts, std::uint64_t place) {
    std::size_t p = 0;
    while (p + 1 < parts.size() && place >= parts[p + 1].base) ++p;
    return p;
  }

  Status write_part(const RunPart& part, const SegmentSums& sums, std::uint64_t first, std::uint64_t last) {
    const std::uint64_t from = std::max(first, part.base + part.rows_done()), end = std::min(last, part.end());
    if (from >= end) return {};
    const std::uint64_t bytes = (end - from) * part.plan().row_bytes;
    HEADRACE_TRY(write_chunks(*part.target->file, part.array, part.plan(), from - part.base, end - from,
                              std::span(window_).subspan((from - first) * part.plan().row_bytes, bytes),
                              memory_.threads));
    RewriteRecord::Array& record = part.record();
    const std::vector<std::uint64_t> values = sums.values();
    for (std::size_t s = 0; s < values.size(); ++s) record.sums[s] += values[s];
    record.rows_done = end - part.base;
    counts_.rows_written += end - from;
    part.target->unsaved_bytes += bytes;
    if (part.target->unsaved_bytes < kSaveBytes && now_ns() - part.target->saved_ns < kSaveNs) return {};
    return save(*part.target);
  }

  Status save(Target& target) {
    target.unsaved_bytes = 0;
    Status saved = target.file->save(target.plan->journal, target.record.text());
    target.saved_ns = now_ns();
    return saved;
  }

  /// Close, verify against the sums of the source's rows, and give the file its name.
  Status finish(Target& target) {
    const RewriteFile& plan = *target.plan;
    if (target.file) {
      target.record.is_closed = true;
      HEADRACE_TRY(target.file->close(plan.journal, target.record.text()));
      target.file.reset();
    }
    HEADRACE_TRY(check_source(plan));
    Status verified =
        verify_rewritten(plan, target.record, memory_.threads, [&](std::uint64_t bytes) { return tick(bytes); });
    if (!verified.ok()) {
      if (verified.error().code() == ErrorCode::kCorruptData) {  // of no use: the next call begins again
        std::remove(plan.journal.c_str());
        std::remove(plan.partial.c_str());
      }
      return verified;
    }
    for (const RewriteArray& array : plan.arrays) done_bytes_ += array.decoded_bytes();
    HEADRACE_TRY(check_source(plan));
    struct stat status {};
    if (::stat(plan.partial.c_str(), &status) != 0) return write_failure(plan.partial, "looking at it", errno);
    target.record.output = fingerprint_of(status);
    HEADRACE_TRY(write_record(plan.record, target.record));
    HEADRACE_TRY(give_name(plan));
    counts_.output_bytes += target.record.output.size_bytes;
    counts_.notes.insert(counts_.notes.end(), target.record.notes.begin(), target.record.notes.end());
    ++counts_.files_written;
    return {};
  }

  /// Rename the verified file, unless it has its name already.
  static Status give_name(const RewriteFile& plan) {
    std::error_code ignored;
    if (fs::exists(plan.partial, ignored) && std::rename(plan.partial.c_str(), plan.output.c_str()) != 0)
      return write_failure(plan.output, "giving the file its name", errno);
    std::remove(plan.journal.c_str());
    sync_directory(fs::path(plan.output).parent_path().string());
    return {};
  }

  static Status check_source(const RewriteFile& plan) {
    HEADRACE_ASSIGN(const PathStatus now, FileSystem::of(plan.source).status(plan.source));
    const auto change = describe_change(plan.fingerprint, now.fingerprint);
    if (!change) return {};
    return Error(ErrorCode::kFileChanged, fmt::format("it changed while it was rewritten: {}", *change))
        .with_file(plan.source)
        .with_hint(fmt::format("Delete {} and run the command again.", plan.journal));
  }

  bool tick(std::uint64_t bytes) const {
    return !progress_ || progress_(std::min(done_bytes_ + bytes, total_bytes_), total_bytes_);
  }

  const RewritePlan& plan_;
  RewriteMemory memory_;
  const std::function<bool(std::uint64_t, std::uint64_t)>& progress_;
  KeyedPermutation permutation_;
  std::uint64_t done_bytes_ = 0, total_bytes_ = 0;
  std::vector<std::byte> window_;
  RewriteCounts counts_;
};

}  // namespace

Result<RewriteMemory> divide_memory(const RewritePlan& plan, std::uint32_t threads) {
  std::uint64_t free = MemoryBudget::process()->free_bytes();
  if (plan.options.memory_bytes != 0) free = std::min(free, plan.options.memory_bytes);
  std::uint64_t scratch = 0, chunk = 0, shuffled = 0;
  for (const RewriteFile& file : plan.files) {
    for (const RewriteArray& array : file.arrays) {
      scratch = std::max(scratch, scan_bytes(*array.reader));
      chunk = std::max(chunk, array.chunk_rows() * array.row_bytes);
    }
    shuffled += file.rows * largest_row_bytes(file);
  }
  for (; threads > 0; --threads) {
    // Beside the window: what each thread reads and encodes with, and encoded chunks that wait for an earlier one.
    const std::uint64_t each = scratch + 4 * chunk;
    if (each > free / threads) continue;
    const std::uint64_t window = (free - threads * each) / 4 * 3;
    if (window < chunk) continue;
    const std::uint64_t useful = std::max({plan.options.shuffle ? shuffled : 0, kWindowBytes, chunk});
    RewriteMemory memory{std::min(window, useful), threads, 0};
    memory.total_bytes = memory.window_bytes + threads * each;
    return memory;
  }
  const std::uint64_t least = scratch + 4 * chunk + (chunk + 2) / 3 * 4;
  return Error(ErrorCode::kOutOfBudget, fmt::format("{} of memory are too few: one thread and one chunk take {}",
                                                    format_bytes(free), format_bytes(least)))
      .with_hint("Give more with --memory, or take smaller chunks with --chunk-rows.");
}

std::uint64_t passes_of(const RewritePlan& plan, const RewriteMemory& memory) {
  if (!plan.options.shuffle) return 1;
  std::uint64_t passes = 0;
  for (const std::vector<std::size_t>& group : groups_of(plan, memory)) {
    std::uint64_t bytes = 0;
    for (const std::size_t f : group) bytes += plan.files[f].rows * largest_row_bytes(plan.files[f]);
    passes += std::max<std::uint64_t>((bytes + memory.window_bytes - 1) / memory.window_bytes, 1);
  }
  return passes;
}

Result<FileState> state_of(const RewritePlan& plan, const RewriteFile& file) {
  std::error_code ignored;
  const std::string identity = identity_of(plan, file);
  const Result<RewriteRecord> record = read_record(file.record);
  const auto has = [&](const std::string& path) {
    const auto there = FileSystem::of(path).status(path);
    return record.ok() && there.ok() && there->kind == PathKind::kFile &&
           change_between(record->output, there->fingerprint) == FileChange::kNone;
  };
  const bool ours = record.ok() && record->identity == identity;
  const auto output = FileSystem::of(file.output).status(file.output);
  if (!output.ok()) return output.error();
  if (output->kind != PathKind::kNothing) {
    if (ours && has(file.output)) return FileState::kDone;
    return Error(ErrorCode::kInvalidArgument,
                 record.ok()
                     ? "exists already, and is not what this command would write: other options, another version "
                       "of the source, or changed since"
                     : "exists already, and headrace rewrite did not write it")
        .with_file(file.output)
        .with_hint("Name another directory with --to, or delete the file.");
  }
  if (ours && has(file.partial)) return FileState::kDone;  // ended just before it gave the file its name
  if (!fs::exists(file.journal, ignored) || !fs::exists(file.partial, ignored)) return FileState::kFresh;
  HEADRACE_ASSIGN(const RewriteRecord started, read_record(file.journal));
  if (started.identity == identity) return FileState::kStarted;
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("an unfinished rewrite lies there, of other options or of another version of {} "
                           "(it was begun with: {})",
                           file.source, started.asked))
      .with_file(file.partial)
      .with_hint(fmt::format("Give the same options again to go on with it, or delete the directory {}", plan.work));
}

Result<RewriteCounts> run_rewrite(const RewritePlan& plan, const RewriteMemory& memory,
                                  const std::function<bool(std::uint64_t, std::uint64_t)>& progress) {
  HEADRACE_ASSIGN(const MemoryReservation held,
                  MemoryBudget::process()->try_reserve(MemoryTag::kOther, memory.total_bytes));
  return Rewriter(plan, memory, progress).run();
}

}  // namespace headrace
