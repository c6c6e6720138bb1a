// Headrace's own token data: a folder of .npy files, and a manifest.json that says what they are.
//
//   {"format": "headrace-tokens", "format_version": 1, "dtype": "uint16", "vocab_size": 50257,
//    "tokenizer": {"name": "gpt2", "hash": "…"}, "end_of_text": 50256, "tokens": 9000, "documents": 12,
//    "shards": [{"file": "tokens-00000.npy", "ends": "ends-00000.npy", "tokens": 9000, "documents": 12,
//                "crc32c": "8a9136aa", "ends_crc32c": "62a8ab43"}],
//    "crc32c": "113fdb5c"}
//
// vocab_size, tokenizer and end_of_text may be missing or null. A document lies in one shard. `ends` has for each
// document of the shard the token behind its last, counted in the shard, as uint64 or int64; it may be missing or null.
// Checksums are CRC-32C (RFC 3720) in hexadecimal digits, and may be missing: a shard's are of all bytes of its files,
// the last one is of this object without it, written with one blank a level, as json.dumps(indent=1) does.
#pragma once

#include <headrace/dtype.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace headrace::token_files {

struct TokenShard {
  std::string file, ends;  ///< Names in the folder; `ends` may be empty.
  std::uint64_t tokens = 0, documents = 0;
  std::optional<std::uint32_t> crc32c = {}, ends_crc32c = {};  ///< CRC-32C of the files; nullopt: not said.
};

struct TokenManifest {
  static constexpr const char* kFileName = "manifest.json";
  static constexpr std::string_view kFormat = "headrace-tokens";
  static constexpr std::uint64_t kFormatVersion = 1;

  DType dtype;
  std::uint64_t vocab_size = 0;  ///< 0: not said.
  std::string tokenizer = {}, tokenizer_hash = {};
  std::optional<std::uint64_t> end_of_text = {};
  std::vector<TokenShard> shards = {};
};

/// Return the text of a manifest.
std::string manifest_text(const TokenManifest& manifest);
/// Errors: kCorruptData  it is no manifest, contradicts itself, or has another checksum; kUnsupported  another version.
Result<TokenManifest> parse_token_manifest(std::string_view text);

/// Return true if `path` is a directory whose manifest.json is one of tokens. Reads its first bytes.
bool is_token_folder(const std::string& path);
/// Read the manifest of a folder. Errors: as parse_token_manifest(), with the file; those of reading.
Result<TokenManifest> read_token_manifest(const std::string& folder);

/// Return the path of a name in a folder.
std::string path_in(const std::string& folder, std::string_view name);
/// Return the folder of a path; "." where it names none.
std::string folder_of(const std::string& path);

}  // namespace headrace::token_files
