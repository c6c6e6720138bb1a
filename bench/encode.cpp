// What it costs to encode decoded blocks for the memory cache, against inflating them from their file, one thread.
// Inflating is the yardstick's: libdeflate on stored chunks that lie in memory; encoding is the engine's own.
//
// bench_encode [--blocks 64] [--repetitions 5] [--fields a,b,c] [--room 0.3] FILE…       prints one JSON object
//
// Blocks are taken from all over the files. Each is inflated once, then encoded and decoded in every coding that there
// is, one after another, so that all of them share what the machine does meanwhile. Times are sums over the blocks, the
// least of the repetitions. `chosen` is the coding that choose_coding() takes where there is room for encoded blocks
// only, --room times the data: 1 GiB for the jets of `make bench`, whose window alone would take as much.
#include <libdeflate.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "cache/blocks/block_coder.h"
#include "chunk_list.h"
#include "fast_decode.h"
#include "pages.h"

namespace bench {
namespace {

using headrace::BlockCoding;
using headrace::BlockForm;
using headrace::CodedBlock;
using headrace::Pieces;

struct Options {
  std::vector<std::string> files;
  std::vector<std::string> fields = {"feature_matrix", "adjacency_matrix", "labels"};
  std::size_t blocks = 64;
  int repetitions = 5;
  double room = 0.3;
};

/// A block as the file stores it, and as the cache would hold it.
struct Sample {
  const Block* block = nullptr;
  std::vector<std::vector<std::byte>> stored;
};

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// All codings that have a name of their own; what follows the last one is called as the first is.
std::vector<BlockCoding> codings() {
  std::vector<BlockCoding> all;
  for (int value = 1; value < 64; ++value) {
    const auto coding = static_cast<BlockCoding>(value);
    if (to_string(coding) == to_string(BlockCoding::kRaw)) break;
    all.push_back(coding);
  }
  return all;
}

BlockForm form_of(const Workload& workload) {
  std::vector<headrace::StoredColumn> columns;
  for (const Field& field : workload.fields) {
    headrace::StoredColumn column;
    column.name = field.path;
    column.dtype.itemsize = static_cast<std::uint32_t>(field.element_bytes);  // their kind does not matter here
    column.shape = {field.row_bytes / field.element_bytes};
    columns.push_back(column);
  }
  return BlockForm(columns);
}

class Bench {
 public:
  explicit Bench(const Options& options)
      : workload_(list_chunks(options.files, options.fields, 128)),
        form_(form_of(workload_)),
        decompressor_(libdeflate_alloc_decompressor(), libdeflate_free_decompressor) {
    for (const Block& block : workload_.blocks) most_rows_ = std::max(most_rows_, block.rows);
    const std::size_t count = std::min(options.blocks, workload_.blocks.size());
    for (std::size_t i = 0; i < count; ++i)
      samples_.push_back(read(workload_.blocks[i * workload_.blocks.size() / count]));
    decoded_.resize(form_.bytes(most_rows_) + kSlackBytes);
    spare_.resize(workload_.largest_decoded_bytes + kSlackBytes);
    coded_.resize(headrace::most_coded_bytes(form_, most_rows_));
    piece_.resize(headrace::piece_scratch_bytes(form_));
  }

  nlohmann::json measure(const Options& options) {
    const std::vector<BlockCoding> all = codings();
    double inflate = std::numeric_limits<double>::infinity();
    std::vector<double> encode(all.size(), inflate), decode(all.size(), inflate);
    std::vector<std::uint64_t> coded_bytes(all.size(), 0);
    std::uint64_t bytes = 0;
    for (int repetition = 0; repetition <= options.repetitions; ++repetition) {  // the first one warms up
      double inflating = 0;
      std::vector<double> encoding(all.size(), 0), decoding(all.size(), 0);
      bytes = 0;
      std::fill(coded_bytes.begin(), coded_bytes.end(), 0);
      for (const Sample& sample : samples_) {
        bytes += form_.bytes(sample.block->rows);
        inflating += timed([&] { inflate_block(sample); });
        for (std::size_t c = 0; c < all.size(); ++c) {
          CodedBlock coded;
          encoding[c] += timed([&] { coded = encode_block(sample, all[c]); });
          coded_bytes[c] += coded.bytes();
          decoding[c] += timed([&] { decode_block(sample, coded); });
        }
      }
      if (repetition == 0) continue;
      inflate = std::min(inflate, inflating);
      for (std::size_t c = 0; c < all.size(); ++c)
        encode[c] = std::min(encode[c], encoding[c]), decode[c] = std::min(decode[c], decoding[c]);
    }
    return told(options, all, inflate, encode, decode, coded_bytes, bytes);
  }

 private:
  static Sample read(const Block& block) {
    Sample sample{&block, {}};
    for (const Chunk& chunk : block.chunks) {
      sample.stored.emplace_back(chunk.stored_bytes);
      if (::pread(chunk.descriptor, sample.stored.back().data(), chunk.stored_bytes,
                  static_cast<off_t>(chunk.offset)) != static_cast<ssize_t>(chunk.stored_bytes))
        throw std::runtime_error("pread failed or met the end of the file");
    }
    return sample;
  }

  template <typename Work>
  static double timed(const Work& work) {
    const double start = now_seconds();
    work();
    return now_seconds() - start;
  }

  void inflate_block(const Sample& sample) {
    for (std::size_t i = 0; i < sample.stored.size(); ++i) {
      const Chunk& chunk = sample.block->chunks[i];
      const Field& field = workload_.fields[chunk.field];
      std::byte* const to = decoded_.data() + form_.offset(chunk.field, sample.block->rows);
      const bool shuffled =
          std::find(field.filters.begin(), field.filters.end(), Filter::kShuffle) != field.filters.end();
      const bool deflated =
          std::find(field.filters.begin(), field.filters.end(), Filter::kDeflate) != field.filters.end();
      if (!deflated || chunk.filter_mask != 0 || chunk.decoded_bytes != sample.block->rows * field.row_bytes)
        throw std::runtime_error(field.path + ": bench_encode needs deflated chunks of whole blocks");
      std::size_t got = 0;
      if (libdeflate_zlib_decompress(decompressor_.get(), sample.stored[i].data(), sample.stored[i].size(),
                                     shuffled ? spare_.data() : to, chunk.decoded_bytes, &got) != LIBDEFLATE_SUCCESS ||
          got != chunk.decoded_bytes)
        throw std::runtime_error(field.path + ": a chunk does not inflate");
      if (shuffled) unshuffle(spare_.data(), got, field.element_bytes, to);
    }
  }

  CodedBlock encode_block(const Sample& sample, BlockCoding coding) {
    auto coded = headrace::encode_block(form_, sample.block->rows, coding, decoded_.data(), coded_);
    if (!coded.ok()) throw std::runtime_error(coded.error().message());
    return std::move(*coded);
  }

  void decode_block(const Sample& sample, const CodedBlock& coded) {
    for (std::size_t field = 0; field < form_.num_fields(); ++field) {
      const std::uint64_t pieces = Pieces::of(form_, field).count(sample.block->rows);
      for (std::uint64_t piece = 0; piece < pieces; ++piece)
        if (!headrace::decode_piece(form_, sample.block->rows, coded, coded_, field, piece, piece_).ok())
          throw std::runtime_error("a block that was just encoded does not decode");
    }
  }

  [[nodiscard]] nlohmann::json told(const Options& options, const std::vector<BlockCoding>& all, double inflate,
                                    const std::vector<double>& encode, const std::vector<double>& decode,
                                    const std::vector<std::uint64_t>& coded_bytes, std::uint64_t bytes) const {
    const double count = static_cast<double>(samples_.size()), size = static_cast<double>(bytes);
    nlohmann::json result{{"blocks", samples_.size()}, {"bytes", bytes}, {"inflate_gb_per_s", size / inflate / 1e9}};
    std::vector<headrace::CodingTrial> trials;
    double best = 0;
    for (std::size_t c = 0; c < all.size(); ++c) {
      headrace::CodingTrial trial;
      trial.coding = all[c];
      trial.coded_share = static_cast<double>(coded_bytes[c]) / size;
      trial.encode_ns = encode[c] * 1e9 / count, trial.decode_ns = decode[c] * 1e9 / count;
      trials.push_back(trial);
      best = std::max(best, inflate / encode[c]);
      result["codings"].push_back({{"coding", to_string(all[c])},
                                   {"encode_over_inflate", inflate / encode[c]},
                                   {"decode_over_inflate", inflate / decode[c]},
                                   {"encode_gb_per_s", size / encode[c] / 1e9},
                                   {"decode_gb_per_s", size / decode[c] / 1e9},
                                   {"coded_share", trial.coded_share}});
    }
    headrace::CodingCase how;
    how.miss_ns = inflate * 1e9 / count;
    how.encoded_room = options.room;
    const headrace::CodingTrial* const chosen = choose_coding(trials, how);
    const auto place = chosen == nullptr ? all.size() : static_cast<std::size_t>(chosen - trials.data());
    result["chosen"] = chosen == nullptr ? "decoded" : std::string(to_string(chosen->coding));
    result["encode_over_inflate"] = chosen == nullptr ? 0.0 : inflate / encode[place];
    result["decode_over_inflate"] = chosen == nullptr ? 0.0 : inflate / decode[place];
    result["fastest_encode_over_inflate"] = best;
    return result;
  }

  const Workload workload_;
  const BlockForm form_;
  std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> decompressor_;
  std::uint64_t most_rows_ = 0;
  std::vector<Sample> samples_;
  std::vector<std::byte> decoded_, spare_, coded_, piece_;
};

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  CLI::App app("What encoding for the memory cache costs, against inflating");
  bench::Options options;
  app.add_option("files", options.files)->required()->check(CLI::ExistingFile);
  app.add_option("--fields", options.fields)->delimiter(',');
  app.add_option("--blocks", options.blocks)->check(CLI::PositiveNumber);
  app.add_option("--repetitions", options.repetitions)->check(CLI::PositiveNumber);
  app.add_option("--room", options.room, "Memory for encoded blocks, as a share of the decoded data")
      ->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    std::printf("%s\n", bench::Bench(options).measure(options).dump().c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_encode: %s\n", error.what());
    return 1;
  }
  return 0;
}
