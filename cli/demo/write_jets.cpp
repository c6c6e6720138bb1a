#include "demo/write_jets.h"

#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <new>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "demo/jet_file.h"
#include "demo/marker.h"
#include "demo/ordered_queue.h"

namespace headrace::demo {
namespace {

namespace fs = std::filesystem;

/// Encoded blocks that wait for the writing thread.
constexpr std::size_t kQueueBytes = 64U << 20;

/// One block of rows of one file.
struct BlockPlace {
  std::uint32_t file = 0;
  std::uint64_t first_row = 0;  // in the file
  std::uint64_t first_jet = 0;  // over all files
  std::uint64_t rows = 0;       // that exist; the stored chunk may be longer
  std::uint64_t chunk_rows = 0;
};

std::vector<BlockPlace> plan_blocks(const JetOptions& options) {
  std::vector<BlockPlace> blocks;
  for (std::uint32_t file = 0; file < options.files; ++file) {
    const FileRows rows = file_rows(options, file);
    const std::uint64_t chunk_rows = chunk_rows_of(options, rows.count);
    for (std::uint64_t row = 0; row < rows.count; row += chunk_rows) {
      blocks.push_back({.file = file,
                        .first_row = row,
                        .first_jet = rows.first + row,
                        .rows = std::min(chunk_rows, rows.count - row),
                        .chunk_rows = chunk_rows});
    }
  }
  return blocks;
}

/// A making thread's buffers: one decoded block.
struct Scratch {
  std::vector<float> features, pairs;
  std::vector<std::int64_t> labels;
};

Result<EncodedBlock> make_block(const JetOptions& options, const BlockPlace& place, Scratch& scratch) {
  // A chunk that reaches past the array is stored whole (HDF5), unless there are no chunks.
  const std::uint64_t rows = options.storage.contiguous ? place.rows : place.chunk_rows;
  scratch.features.assign(rows * kMaxParticles * kFeatures, 0.0F);
  scratch.pairs.assign(rows * kPairs, 0.0F);
  scratch.labels.assign(rows, 0);
  Jet jet;
  for (std::uint64_t row = 0; row < place.rows; ++row) {
    const std::uint64_t index = place.first_jet + row;
    make_jet(options.seed, index, jet);
    write_features(jet, std::span<float, kMaxParticles * kFeatures>(
                            scratch.features.data() + row * kMaxParticles * kFeatures, kMaxParticles * kFeatures));
    write_pairs(jet, options.pair_layout, std::span<float, kPairs>(scratch.pairs.data() + row * kPairs, kPairs));
    scratch.labels[row] = label_of(options, index);
  }
  EncodedBlock block;
  HEADRACE_ASSIGN(block[kFeatureMatrix],
                  encode_chunk(std::as_bytes(std::span(scratch.features)), 4, options.storage.coding()));
  HEADRACE_ASSIGN(block[kAdjacencyMatrix],
                  encode_chunk(std::as_bytes(std::span(scratch.pairs)), 4, options.storage.coding()));
  HEADRACE_ASSIGN(block[kLabels], encode_chunk(std::as_bytes(std::span(scratch.labels)), 8, options.storage.coding()));
  return block;
}

std::size_t stored_bytes(const EncodedBlock& block) {
  std::size_t bytes = 0;
  for (const EncodedChunk& chunk : block) bytes += chunk.bytes.size();
  return bytes;
}

/// The threads that make blocks. Leaving its scope stops and joins them.
class Makers {
 public:
  Makers(const JetOptions& options, const std::vector<BlockPlace>& blocks)
      : options_(options), blocks_(blocks), queue_(kQueueBytes) {
    int count = options.threads > 0 ? options.threads : static_cast<int>(std::thread::hardware_concurrency());
    count = std::max(1, std::min(count, static_cast<int>(std::min<std::size_t>(blocks.size(), 1024))));
    for (int i = 0; i < count; ++i) threads_.emplace_back([this] { make(); });
  }
  ~Makers() {
    stop_ = true;
    queue_.close();
  }
  Makers(const Makers&) = delete;
  Makers& operator=(const Makers&) = delete;

  /// The next block in order.
  Result<EncodedBlock> next() {
    EncodedBlock block;
    if (queue_.pop(block)) return block;
    const std::lock_guard lock(mutex_);
    return *failure_;  // only fail() closes the queue while blocks are still asked for
  }

 private:
  void make() {
    try {
      Scratch scratch;
      while (!stop_) {
        const std::uint64_t index = claimed_.fetch_add(1);
        if (index >= blocks_.size()) return;
        Result<EncodedBlock> block = make_block(options_, blocks_[index], scratch);
        if (!block.ok()) return fail(std::move(block.error()));
        const std::size_t bytes = stored_bytes(*block);
        if (!queue_.push(index, bytes, *std::move(block))) return;
      }
    } catch (const std::bad_alloc&) {
      fail(Error(ErrorCode::kOutOfBudget, "no memory left for a block of jets").with_hint("Use fewer --threads."));
    }
  }

  void fail(Error error) {
    {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::move(error);
    }
    queue_.close();
  }

  const JetOptions& options_;
  const std::vector<BlockPlace>& blocks_;
  OrderedQueue<EncodedBlock> queue_;
  std::atomic<std::uint64_t> claimed_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::optional<Error> failure_;
  std::vector<std::jthread> threads_;  // last: joined before the rest goes
};

std::string file_name(std::uint32_t index) {
  return fmt::format("train_{:02}.h5", index);
}

std::string file_path(const JetOptions& options, std::uint32_t index) {
  return (fs::path(options.out_dir) / file_name(index)).string();
}

Error system_error(const std::string& path, const char* doing, const std::error_code& failure) {
  const ErrorCode code = failure == std::errc::permission_denied || failure == std::errc::read_only_file_system
                             ? ErrorCode::kPermission
                             : ErrorCode::kWriteFailed;
  return Error(code, fmt::format("{} failed: {}", doing, failure.message())).with_file(path).with_stage("write");
}

/// Makes the directory, removes what an earlier run with other options left, and refuses to touch foreign files.
Status prepare_directory(const JetOptions& options, const Marker& marker) {
  std::error_code failure;
  fs::create_directories(options.out_dir, failure);
  if (failure) return system_error(options.out_dir, "making the directory", failure);
  for (const MarkedFile& file : marker.files) {
    fs::remove(fs::path(options.out_dir) / file.name, failure);
    if (failure) return system_error((fs::path(options.out_dir) / file.name).string(), "removing the file", failure);
  }
  fs::remove(fs::path(options.out_dir) / kMarkerName, failure);
  for (std::uint32_t index = 0; index < options.files; ++index) {
    if (fs::exists(file_path(options, index), failure)) {
      return Error(ErrorCode::kInvalidArgument, "exists already, and was not written by headrace demo")
          .with_file(file_path(options, index))
          .with_hint("Choose another --out directory, or remove the file.");
    }
  }
  return {};
}

/// Gives back the files that were finished before an error, so that nothing half-made is taken for a set.
class Unfinished {
 public:
  ~Unfinished() {
    std::error_code ignored;
    for (const std::string& path : paths_) fs::remove(path, ignored);
  }
  void add(const std::string& path) { paths_.push_back(path); }
  void keep() { paths_.clear(); }

 private:
  std::vector<std::string> paths_;
};

Status write_all(const JetOptions& options, WriteSummary& summary, Marker& marker) {
  const std::vector<BlockPlace> blocks = plan_blocks(options);
  Makers makers(options, blocks);
  Unfinished unfinished;
  std::optional<JetFile> file;
  WriteProgress progress{.total_jets = options.num_jets};
  for (const BlockPlace& place : blocks) {
    const std::string path = file_path(options, place.file);
    const FileRows rows = file_rows(options, place.file);
    if (place.first_row == 0) {
      HEADRACE_ASSIGN(file, JetFile::create(path, rows.count, options));
    }
    HEADRACE_ASSIGN(const EncodedBlock block, makers.next());
    HEADRACE_TRY(file->write(place.first_row, place.rows, block));
    if (place.first_row + place.rows == rows.count) {
      HEADRACE_ASSIGN(const std::uint64_t bytes, file->finish());
      file.reset();
      unfinished.add(path);
      summary.paths.push_back(path);
      summary.stored_bytes += bytes;
      marker.files.push_back({file_name(place.file), bytes});
    }
    progress.done_jets += place.rows;
    progress.stored_bytes += stored_bytes(block);
    if (options.progress && !options.progress(progress)) {
      return Error(ErrorCode::kCancelled, "stopped before all jets were written").with_file(options.out_dir);
    }
  }
  HEADRACE_TRY(write_marker(options.out_dir, marker));
  unfinished.keep();
  return {};
}

}  // namespace

Result<WriteSummary> write_jets(const JetOptions& options) {
  HEADRACE_TRY(check(options));
  const std::uint64_t started_ns = now_ns();
  WriteSummary summary;
  summary.num_jets = options.num_jets;
  summary.decoded_bytes = options.num_jets * kJetBytes;
  const Marker found = read_marker(options.out_dir);
  if (found.options == options_text(options) && files_are_there(options.out_dir, found)) {
    for (const MarkedFile& file : found.files) {
      summary.paths.push_back((fs::path(options.out_dir) / file.name).string());
      summary.stored_bytes += file.bytes;
    }
    summary.reused = true;
  } else {
    HEADRACE_TRY(prepare_directory(options, found));
    Marker marker{.options = options_text(options), .files = {}};
    HEADRACE_TRY(write_all(options, summary, marker));
  }
  summary.seconds = static_cast<double>(now_ns() - started_ns) * 1e-9;
  return summary;
}

}  // namespace headrace::demo
