// What `headrace demo` is asked to write, and what it says it wrote.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/chunk_encoder.h"
#include "demo/jet_generator.h"

namespace headrace::demo {

/// How the arrays lie in the file.
struct Storage {
  Compression compression = Compression::kGzip;
  int level = 4;            ///< of gzip (0..9) or Blosc (0..9); LZF has none
  bool shuffle = false;     ///< HDF5's byte shuffle before gzip or LZF; Blosc's own for Blosc
  bool contiguous = false;  ///< no chunks, no filters
  [[nodiscard]] ChunkCoding coding() const { return {compression, level, shuffle}; }
  friend bool operator==(const Storage&, const Storage&) = default;
};

/// Return "gzip-4", "gzip-4+shuffle", "lzf", "lzf+shuffle", "blosc-zstd" (level 5, shuffled), "none", "contiguous".
Result<Storage> parse_storage(std::string_view text);
std::string to_string(const Storage& storage);

/// Return "triu_max" or "triu_n".
Result<PairLayout> parse_pair_layout(std::string_view text);
std::string_view to_string(PairLayout layout);

/// Called by the writing thread after every block.
struct WriteProgress {
  std::uint64_t done_jets = 0;
  std::uint64_t total_jets = 0;
  std::uint64_t stored_bytes = 0;
};

struct JetOptions {
  std::string out_dir;
  std::uint64_t num_jets = 65536;
  std::uint32_t files = 4;
  std::uint32_t chunk_rows = 128;
  std::uint64_t seed = 7;
  std::uint32_t classes = 10;
  PairLayout pair_layout = PairLayout::kTriuMax;
  Storage storage;
  int threads = 0;  ///< 0: as many as the machine has; the bytes written do not depend on it
  /// Return false to stop: what was begun is removed and the result is kCancelled.
  std::function<bool(const WriteProgress&)> progress;
};

/// Return kInvalidArgument with the option's name where something is out of range.
Status check(const JetOptions& options);

struct WriteSummary {
  std::vector<std::string> paths;  ///< train_00.h5 …, in order
  std::uint64_t num_jets = 0;
  std::uint64_t stored_bytes = 0;   ///< sizes of the files
  std::uint64_t decoded_bytes = 0;  ///< of the three arrays
  double seconds = 0;
  bool reused = false;  ///< the files were there already, written with the same options
};

/// Bytes of one decoded jet: features, pairs, label.
inline constexpr std::uint64_t kJetBytes = 4ULL * kMaxParticles * kFeatures + 4ULL * kPairs + 8;

/// Rows [first, first + count) of all jets that lie in file `index`: equal shares, the first files one row longer.
struct FileRows {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};
FileRows file_rows(const JetOptions& options, std::uint32_t index);

/// Return the rows of a chunk in a file of that many rows: libhdf5 wants no chunk larger than its array.
inline std::uint64_t chunk_rows_of(const JetOptions& options, std::uint64_t rows) {
  return rows < options.chunk_rows ? rows : options.chunk_rows;
}

/// Return the class of a jet: `classes` equal runs over all files, as real files hold one or a few classes each.
inline std::int64_t label_of(const JetOptions& options, std::uint64_t jet) {
  return static_cast<std::int64_t>(jet * options.classes / options.num_jets);
}

}  // namespace headrace::demo
