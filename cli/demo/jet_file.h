// One train_NN.h5 being written: a thin, single-threaded use of libhdf5 that takes chunks already encoded.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "codec/chunk_encoder.h"
#include "demo/jet_options.h"

namespace headrace::demo {

enum FieldIndex : std::uint8_t { kFeatureMatrix, kAdjacencyMatrix, kLabels, kFieldCount };
inline constexpr std::array<const char*, kFieldCount> kFieldPaths = {"feature_matrix", "adjacency_matrix", "labels"};

/// The chunks of one block of rows, a chunk a field.
using EncodedBlock = std::array<EncodedChunk, kFieldCount>;

/// Written under a temporary name beside `path` and renamed by finish(); a file that is dropped before leaves nothing.
/// Readable by every libhdf5 from 1.6 on. Threads: one. Errors: kPermission, kNotFound, kWriteFailed, with the file.
class JetFile {
 public:
  static Result<JetFile> create(const std::string& path, std::uint64_t rows, const JetOptions& options);
  JetFile(JetFile&&) noexcept;
  JetFile& operator=(JetFile&&) noexcept;
  ~JetFile();

  /// Write the chunks that start at `first_row` (a multiple of the chunk rows); `rows` of them are inside the arrays.
  Status write(std::uint64_t first_row, std::uint64_t rows, const EncodedBlock& block);

  /// Close and rename the file; return its size in bytes.
  Result<std::uint64_t> finish();

 private:
  struct State;
  explicit JetFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace headrace::demo
