// What verify does with data of tokens: bytes against checksums, documents against tokens, ids against the vocabulary.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/tokens/token_file.h"

namespace headrace {

/// Return true for a folder of tokens, and for names of raw, Megatron's and datatrove's files: .bin, .idx, .ds and
/// what lies beside it.
bool is_token_data(const std::string& path);

/// Return true for the manifest.json of a folder of tokens.
bool is_token_manifest(const std::string& path);

/// Compare a file by itself with what the manifest of its folder says of it: a shard, its documents, or the manifest.
/// Errors: kCorruptData  it has another checksum, or the manifest is damaged; those of reading.
Status check_token_part(const std::string& path);

struct TokenVerification {
  std::uint64_t files = 0;              ///< Number of files of tokens.
  std::uint64_t pieces = 0, bytes = 0;  ///< Files that were read, with those of documents, and their bytes.
  bool has_checksums = true;            ///< Every file of numbers has one.
  bool is_open = true;                  ///< There was something to look into.
  std::vector<Error> bad;               ///< What is damaged.
  std::vector<Error> notes;             ///< What cannot be told, such as the type of a raw file.
};

/// Read all of what tokens a path has. \param go_on  As of token_files::GoOn. Errors: kCancelled; all others are in the
/// result.
Result<TokenVerification> verify_tokens(const std::string& path, const token_files::GoOn& go_on);

/// Return the bytes that verify_tokens() reads, as far as that is known.
std::uint64_t token_bytes(const std::string& path);

}  // namespace headrace
