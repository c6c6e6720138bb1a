// A file of tokens, of any kind, as one array of whole numbers, with what lies beside it.
#pragma once

#include <headrace/dtype.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/format_reader.h"
#include "format/tokens/document_index.h"
#include "format/tokens/file_checksum.h"
#include "format/tokens/token_manifest.h"

namespace headrace::token_files {

enum class FileKind : std::uint8_t {
  kRaw,        ///< Nothing but the numbers, as nanoGPT writes them.
  kNumpy,      ///< A .npy file.
  kMegatron,   ///< A .bin file with an .idx file beside it.
  kDatatrove,  ///< A .ds file, with .ds.index and .ds.metadata beside it.
  kHeadrace,   ///< A .npy file that the manifest of its folder names.
};

/// Name of a token array and of its field.
inline constexpr const char* kTokensName = "tokens";

/// What is said of files that do not say it themselves.
struct TokenWords {
  std::optional<DType> dtype = {};
  std::uint64_t vocab_size = 0;  ///< 0: not said.
};

struct TokenFile {
  FileKind kind = FileKind::kRaw;
  std::string path;
  DType dtype;
  FileFingerprint fingerprint;
  std::shared_ptr<ArrayReader> array;                        ///< One number a row.
  ByteRange values;                                          ///< Where they lie.
  std::shared_ptr<const DocumentIndex> documents = nullptr;  ///< Null: nothing says where documents end.
  std::uint64_t vocab_size = 0;                              ///< As said, or as the files say; 0: nothing says it.
  std::string tokenizer = {};                                ///< Its name; empty: nothing says it.
  std::string tokenizer_hash = {};                           ///< What tells it from others of the name, or empty.
  std::vector<FileChecksum> checksums = {};                  ///< CRC-32C that the files must have, where said.
  std::string notice = {};                                   ///< What should be known of it; empty: nothing.
  [[nodiscard]] std::uint64_t tokens() const { return array->info().rows(); }
};

/// Manifests that were read, by folder; null: it has none of tokens.
using Manifests = std::map<std::string, std::shared_ptr<const TokenManifest>>;

/// Open a file of tokens by what lies beside it, its name and its first bytes. Reads headers and the ends of indexes,
/// and the first MiB of the tokens.
/// \param path  The file of the numbers themselves. \param manifests  Those read so far; more are added.
/// Errors: kInvalidArgument  a raw file of which nothing says how wide its numbers are, words that contradict the file,
/// text, or another format; kCorruptData  empty, cut short, an index of another file, ids outside of the vocabulary or
/// of another width; kUnsupported  a type that is none of tokens; those of opening and reading.
Result<TokenFile> open_token_file(const std::string& path, const TokenWords& words, Manifests& manifests);

/// Read tokens [rows.first, rows.end()) and compare them with the file's vocabulary; without one they need only be 0 or
/// more. \param go_on  May be empty; false ends with kCancelled. Errors: kCorruptData  with the first id that is
/// outside; kCancelled; those of reading.
Status check_ids(const TokenFile& file, RowRange rows, const std::function<bool()>& go_on = {});

/// Return an .idx file as a reader of the .bin file's tokens, for `inspect` and open(). Errors: as open_token_file().
Result<std::shared_ptr<FormatReader>> open_megatron(const std::string& idx_path);

}  // namespace headrace::token_files
