// What rewrite() will do with each file: which arrays are stored anew and how, which are copied as they are, and why.
#pragma once

#include <headrace/tools.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "format/format_reader.h"
#include "format/hdf5/writing/rewritten_file.h"
#include "storage/fingerprint.h"

namespace headrace {

/// An array that is stored anew.
struct RewriteArray {
  hdf5::NewArray made;
  hdf5::StoredForm form;
  std::shared_ptr<const ArrayReader> reader;
  std::uint64_t row_bytes = 0;
  bool is_shuffled = false;  ///< Its rows go where the permutation says.
  bool by_element = false;   ///< Rows are not in one run in the source: their digest is of elements.

  [[nodiscard]] std::uint64_t rows() const { return made.info.rows(); }
  [[nodiscard]] std::uint64_t decoded_bytes() const { return rows() * row_bytes; }
  [[nodiscard]] std::uint64_t chunk_rows() const { return made.chunk_shape.empty() ? 1 : made.chunk_shape[0]; }
  /// Return the rows of which one digest is kept: whole chunks, at most 4096 runs of them.
  [[nodiscard]] std::uint64_t segment_rows() const;
  [[nodiscard]] std::uint64_t segments() const { return (rows() + segment_rows() - 1) / segment_rows(); }
  /// Return the bytes of the words that a digest reads: the largest of 8, 4, 2 and 1 that divides a record.
  [[nodiscard]] std::size_t digest_width() const;
};

/// An array that libhdf5 copies as it is stored.
struct KeptArray {
  std::string path, reason;
  std::uint64_t stored_bytes = 0;
};

struct RewriteFile {
  std::string source, output;            ///< Paths.
  std::string partial, journal, record;  ///< Beside the output, until it is whole; and what was written.
  FileFingerprint fingerprint;           ///< Fingerprint of the source.
  bool is_hdf5 = true;                   ///< Else .npy.
  std::uint64_t first_row = 0;           ///< First of its rows in the shuffled order of all files.
  std::uint64_t rows = 0;                ///< That are shuffled.
  std::vector<RewriteArray> arrays;
  std::vector<KeptArray> kept;
};

struct RewritePlan {
  RewriteOptions options;
  std::string asked;  ///< The options as given, before the codec was chosen.
  std::string work;   ///< Directory of what is not whole yet.
  std::vector<RewriteFile> files;
  std::uint64_t shuffled_rows = 0;                    ///< Rows of all files.
  std::uint64_t decoded_bytes = 0, stored_bytes = 0;  ///< Bytes of the arrays that are stored anew.
  std::uint64_t kept_bytes = 0;

  /// Return the path of the array with most decoded bytes; empty if none is stored anew.
  [[nodiscard]] std::string leading() const;
};

/// Read the files' metadata and decide everything but the codec. Errors: those of opening; kInvalidArgument  an output
/// is a source, two sources have one name, rows that cannot be shuffled together.
Result<RewritePlan> make_rewrite_plan(const std::vector<std::string>& paths, const RewriteOptions& options);

/// Settle how chunks are written: coding, and the rows of a chunk (0: for about 2 MiB) for every array.
void settle_storage(RewritePlan& plan, const ChunkCoding& coding);

/// Return the coding of "lz4", "zstd", "blosc", "gzip" or "none". Errors: kInvalidArgument.
Result<ChunkCoding> coding_named(const std::string& name);

/// Return what must be equal for a file to be written on, or to be taken for written, as text.
std::string identity_of(const RewritePlan& plan, const RewriteFile& file);

}  // namespace headrace
