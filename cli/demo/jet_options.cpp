#include "demo/jet_options.h"

#include <fmt/format.h>

namespace headrace::demo {
namespace {

constexpr std::uint64_t kMaxJets = 1'000'000'000;
constexpr std::uint32_t kMaxFiles = 10'000;
constexpr std::uint32_t kMaxChunkRows = 8192;  // 333 MB decoded

Error invalid(std::string message) {
  return {ErrorCode::kInvalidArgument, std::move(message)};
}

Status in_range(std::string_view name, std::uint64_t value, std::uint64_t low, std::uint64_t high) {
  if (value >= low && value <= high) return {};
  return invalid(fmt::format("{} must be from {} to {}, got {}", name, low, high, value));
}

}  // namespace

Result<Storage> parse_storage(std::string_view text) {
  Storage storage;
  std::string_view name = text;
  if (constexpr std::string_view suffix = "+shuffle"; name.ends_with(suffix)) {
    storage.shuffle = true;
    name.remove_suffix(suffix.size());
  }
  const bool takes_shuffle = name.starts_with("gzip") || name == "lzf";
  if (!storage.shuffle || takes_shuffle) {
    if (name == "gzip") return storage;
    if (name.size() == 6 && name.starts_with("gzip-") && name[5] >= '0' && name[5] <= '9') {
      storage.level = name[5] - '0';
      return storage;
    }
    if (name == "lzf") return Storage{.compression = Compression::kLzf, .level = 0, .shuffle = storage.shuffle};
    if (name == "blosc-zstd") return Storage{.compression = Compression::kBloscZstd, .level = 5, .shuffle = true};
    if (name == "none") return Storage{.compression = Compression::kNone, .level = 0};
    if (name == "contiguous") return Storage{.compression = Compression::kNone, .level = 0, .contiguous = true};
  }
  return invalid(
      fmt::format("no storage is called '{}'; there are gzip-0 to gzip-9, gzip-4+shuffle, lzf, lzf+shuffle, "
                  "blosc-zstd, none, contiguous",
                  text));
}

std::string to_string(const Storage& storage) {
  if (storage.contiguous) return "contiguous";
  switch (storage.compression) {
    case Compression::kNone:
      return "none";
    case Compression::kGzip:
      return fmt::format("gzip-{}{}", storage.level, storage.shuffle ? "+shuffle" : "");
    case Compression::kLzf:
      return storage.shuffle ? "lzf+shuffle" : "lzf";
    case Compression::kBloscZstd:
      return "blosc-zstd";
    default:  // parse_storage() makes no other
      return "unknown";
  }
}

Result<PairLayout> parse_pair_layout(std::string_view text) {
  if (text == "triu_max") return PairLayout::kTriuMax;
  if (text == "triu_n") return PairLayout::kTriuN;
  return invalid(fmt::format("no adjacency layout is called '{}'; there are triu_max and triu_n", text));
}

std::string_view to_string(PairLayout layout) {
  return layout == PairLayout::kTriuMax ? "triu_max" : "triu_n";
}

Status check(const JetOptions& options) {
  if (options.out_dir.empty()) return invalid("the output directory has no name");
  HEADRACE_TRY(in_range("jets", options.num_jets, 1, kMaxJets));
  HEADRACE_TRY(in_range("files", options.files, 1, kMaxFiles));
  if (options.files > options.num_jets) {
    return invalid(fmt::format("{} jets cannot fill {} files", options.num_jets, options.files));
  }
  HEADRACE_TRY(in_range("chunk rows", options.chunk_rows, 1, kMaxChunkRows));
  HEADRACE_TRY(in_range("classes", options.classes, 1, options.num_jets));
  if (options.threads < 0 || options.threads > 1024) {
    return invalid(fmt::format("threads must be from 0 (all) to 1024, got {}", options.threads));
  }
  return {};
}

FileRows file_rows(const JetOptions& options, std::uint32_t index) {
  const std::uint64_t share = options.num_jets / options.files;
  const std::uint64_t longer = options.num_jets % options.files;
  return {.first = index * share + (index < longer ? index : longer), .count = share + (index < longer ? 1 : 0)};
}

}  // namespace headrace::demo
