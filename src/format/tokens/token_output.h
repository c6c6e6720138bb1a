// TokenOutput: token numbers on their way into files, in each of the formats that are written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "format/tokens/token_manifest.h"

namespace headrace::token_files {

enum class OutputFormat : std::uint8_t { kFolder, kRaw, kMegatron };

/// Files appear under their names in finish() only. What was written is removed with an object that has not finished.
/// Threads: one at a time. Errors: kWriteFailed, with the file.
class TokenOutput {
 public:
  virtual ~TokenOutput() = default;
  /// Write numbers of the document that is open, little-endian, as many bytes each as the type has.
  virtual Status write(std::span<const std::byte> numbers) = 0;
  /// End the document. \param tokens  So many it has.
  virtual Status end_document(std::uint64_t tokens) = 0;
  virtual Status finish() = 0;
};

/// Begin to write. \param manifest  What is said of the tokens; its shards are empty. \param shard_tokens  A shard of a
/// folder ends with the document that reaches so many.
/// Errors: kInvalidArgument  something of that name is there, or the type is none of Megatron's; kWriteFailed.
Result<std::unique_ptr<TokenOutput>> open_token_output(OutputFormat format, const std::string& path,
                                                       TokenManifest manifest, std::uint64_t shard_tokens);

}  // namespace headrace::token_files
