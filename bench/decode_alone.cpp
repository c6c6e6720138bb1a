// The physical limit: threads that read and decode the stored chunks, and do nothing else. No order, no batches, no
// consumer. Where nothing has to be decoded, the bytes are copied once to where batches would lie.
//
// bench_decode_alone [--threads 2] [--passes 5] [--fields a,b,c] [--contiguous-rows 128] [--piece-kib 256]
//                    [--destination-mib 256] [--checksum] [--keep] FILE…      prints one JSON object
//
// With --keep every chunk is decoded to a place of its own in memory that nobody has touched before: what filling that
// much memory costs besides.
#include <blosc.h>
#include <libdeflate.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "chunk_list.h"
#include "fast_decode.h"
#include "pages.h"

namespace bench {
namespace {

struct Options {
  std::vector<std::string> files;
  std::vector<std::string> fields = {"feature_matrix", "adjacency_matrix", "labels"};
  unsigned threads = 2;
  unsigned passes = 5;
  std::uint64_t contiguous_rows = 128;
  std::uint64_t piece_kib = 256;
  std::uint64_t destination_mib = 256;
  bool checksum = false;
  bool keep = false;
};

struct FreeDecompressor {
  void operator()(libdeflate_decompressor* p) const { libdeflate_free_decompressor(p); }
};

void read_exactly(int descriptor, std::byte* to, std::size_t bytes, std::uint64_t offset) {
  while (bytes > 0) {
    const ssize_t got = pread(descriptor, to, bytes, static_cast<off_t>(offset));
    if (got <= 0) throw std::runtime_error("pread failed or met the end of the file");
    to += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
}

/// Room of a chunk that is kept, with what a decoder may scribble on.
std::size_t kept_bytes(const Chunk& chunk, const Block& block, const Field& field) {
  return std::max(chunk.decoded_bytes, block.rows * field.row_bytes) + kSlackBytes;
}

/// One thread's state. Buffers are as large as the largest chunk; nothing is allocated after construction.
class Worker {
 public:
  Worker(const Workload& workload, const Options& options, std::byte* destination, std::size_t destination_bytes)
      : workload_(workload),
        piece_bytes_(options.piece_kib << 10),
        checksum_on_(options.checksum),
        stored_(workload.largest_stored_bytes + kSlackBytes),
        first_(workload.largest_decoded_bytes + kSlackBytes),
        second_(workload.largest_decoded_bytes + kSlackBytes),
        destination_(destination),
        destination_bytes_(destination_bytes),
        decompressor_(libdeflate_alloc_decompressor()) {}

  /// \param kept  Where the block's chunks are to be decoded to, one after another; null: to this thread's buffers.
  void run(const Block& block, std::byte* kept) {
    for (const Chunk& chunk : block.chunks) {
      const Field& field = workload_.fields[chunk.field];
      if (field.filters.empty()) {
        if (kept != nullptr) {
          read_exactly(chunk.descriptor, kept, block.rows * field.row_bytes, chunk.offset);
          if (checksum_on_) add(kept, block.rows * field.row_bytes);
          kept += kept_bytes(chunk, block, field);
        } else {
          copy(chunk, block.rows * field.row_bytes);
        }
        continue;
      }
      read_exactly(chunk.descriptor, stored_.data(), chunk.stored_bytes, chunk.offset);
      const std::byte* decoded = decode(chunk, field, kept);
      if (kept != nullptr) kept += kept_bytes(chunk, block, field);
      if (checksum_on_) add(decoded, block.rows * field.row_bytes);
    }
  }

  [[nodiscard]] std::uint64_t checksum() const { return checksum_; }

 private:
  /// No filter: pread and memcpy in pieces that stay in the core's cache.
  void copy(const Chunk& chunk, std::uint64_t bytes) {
    for (std::uint64_t done = 0; done < bytes;) {
      const std::uint64_t piece = std::min(piece_bytes_, bytes - done);
      if (written_ + piece > destination_bytes_) written_ = 0;
      read_exactly(chunk.descriptor, first_.data(), piece, chunk.offset + done);
      std::memcpy(destination_ + written_, first_.data(), piece);
      if (checksum_on_) add(destination_ + written_, piece);
      written_ += piece;
      done += piece;
    }
  }

  const std::byte* decode(const Chunk& chunk, const Field& field, std::byte* kept) {
    std::size_t left = 0;  // filters still to be undone
    for (std::size_t i = 0; i < field.filters.size(); ++i) left += (chunk.filter_mask >> i & 1U) == 0 ? 1 : 0;
    const std::byte* in = stored_.data();
    std::size_t bytes = chunk.stored_bytes;
    std::byte* out = first_.data();
    for (std::size_t i = field.filters.size(); i-- > 0;) {
      if ((chunk.filter_mask >> i & 1U) != 0) continue;
      if (--left == 0 && kept != nullptr) out = kept;
      bytes = undo(field.filters[i], in, bytes, field.element_bytes, out, chunk.decoded_bytes);
      in = out;
      out = in == first_.data() ? second_.data() : first_.data();
    }
    if (bytes != chunk.decoded_bytes) throw std::runtime_error("a chunk decodes to another size than it should");
    if (kept != nullptr && in != kept) std::memcpy(kept, in, bytes);  // a chunk that no filter was applied to
    return in;
  }

  std::size_t undo(Filter filter, const std::byte* in, std::size_t bytes, std::size_t element_bytes, std::byte* out,
                   std::size_t expected) {
    switch (filter) {
      case Filter::kDeflate: {
        std::size_t got = 0;
        const auto status = libdeflate_zlib_decompress(decompressor_.get(), in, bytes, out, expected, &got);
        return status == LIBDEFLATE_SUCCESS ? got : 0;
      }
      case Filter::kShuffle:
        unshuffle(in, bytes, element_bytes, out);
        return bytes;
      case Filter::kLzf:
        return lzf_decompress(in, bytes, out, expected);
      case Filter::kBlosc: {
        const int got = blosc_decompress_ctx(in, out, expected, 1);
        return got > 0 ? static_cast<std::size_t>(got) : 0;
      }
      case Filter::kNone:
        break;
    }
    return 0;
  }

  void add(const std::byte* data, std::uint64_t bytes) {
    for (std::uint64_t i = 0; i + 8 <= bytes; i += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, data + i, 8);
      checksum_ += word;
    }
  }

  const Workload& workload_;
  const std::uint64_t piece_bytes_;
  const bool checksum_on_;
  Pages stored_, first_, second_;
  std::byte* destination_;
  std::size_t destination_bytes_;
  std::size_t written_ = 0;
  std::unique_ptr<libdeflate_decompressor, FreeDecompressor> decompressor_;
  std::uint64_t checksum_ = 0;
};

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

nlohmann::json measure(const Options& options) {
  const Workload workload = list_chunks(options.files, options.fields, options.contiguous_rows);
  bool copies = false;
  std::uint64_t row_bytes = 0;
  for (const Field& field : workload.fields) {
    copies = copies || field.filters.empty();
    row_bytes += field.row_bytes;
  }
  const Pages destination(copies ? options.destination_mib << 20 : 1);
  const std::size_t share = destination.size() / options.threads / 4096 * 4096;
  std::vector<std::size_t> places;  // of each block's chunks, where they are kept
  std::size_t room = 0;
  for (const Block& block : workload.blocks) {
    places.push_back(room);
    for (const Chunk& chunk : block.chunks) room += kept_bytes(chunk, block, workload.fields[chunk.field]);
  }
  const Pages kept(options.keep ? room : 1, Pages::kUntouched);
  std::vector<std::unique_ptr<Worker>> workers;
  for (unsigned i = 0; i < options.threads; ++i) {
    workers.push_back(std::make_unique<Worker>(workload, options, destination.data() + i * share, share));
  }

  // Passes follow each other without a pause, as epochs do: the counter runs through all of them.
  const std::uint64_t tasks = workload.blocks.size() * options.passes;
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> failed{false};
  std::string failure;
  const double cpu_before = cpu_seconds();
  const auto started = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> threads;
    for (const auto& worker : workers) {
      threads.emplace_back([&, w = worker.get()] {
        try {
          for (std::uint64_t i = next++; i < tasks && !failed; i = next++) {
            const std::size_t block = i % workload.blocks.size();
            w->run(workload.blocks[block], options.keep ? kept.data() + places[block] : nullptr);
          }
        } catch (const std::exception& error) {
          if (!failed.exchange(true)) failure = error.what();
        }
      });
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  if (failed) throw std::runtime_error(failure);
  const double rows = static_cast<double>(workload.rows) * options.passes;
  nlohmann::json result = {{"rows", workload.rows},
                           {"passes", options.passes},
                           {"threads", options.threads},
                           {"row_bytes", row_bytes},
                           {"blocks", workload.blocks.size()},
                           {"seconds", seconds},
                           {"cpu_seconds", cpu_seconds() - cpu_before},
                           {"rows_per_s", rows / seconds},
                           {"decoded_bytes_per_s", rows * static_cast<double>(row_bytes) / seconds}};
  if (options.checksum) {
    std::uint64_t sum = 0;
    for (const auto& worker : workers) sum += worker->checksum();
    result["checksum"] = sum;
  }
  return result;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::Options options;
  CLI::App app("Reads and decodes the chunks of HDF5 files, and nothing else");
  app.add_option("files", options.files, "HDF5 files")->required();
  app.add_option("--fields", options.fields, "Datasets")->delimiter(',')->capture_default_str();
  app.add_option("--threads", options.threads)->check(CLI::Range(1, 256))->capture_default_str();
  app.add_option("--passes", options.passes)->check(CLI::Range(1, 1'000'000))->capture_default_str();
  app.add_option("--contiguous-rows", options.contiguous_rows)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--piece-kib", options.piece_kib, "Bytes a pread where nothing is decoded")->capture_default_str();
  app.add_option("--destination-mib", options.destination_mib, "Memory the copies go round in")->capture_default_str();
  app.add_flag("--keep", options.keep, "Decode every chunk to a place of its own, in memory not touched before");
  app.add_flag("--checksum", options.checksum, "Also add up all decoded 64-bit words (slower)");
  CLI11_PARSE(app, argc, argv);
  try {
    std::puts(bench::measure(options).dump().c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 3;
  }
  return 0;
}
