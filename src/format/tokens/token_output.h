// TokenOutput: token numbers on their way into files, in each of the formats that are written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

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
  /// Bring what was written to the disk. \return What resume_token_output() needs to go on from here, as JSON.
  virtual Result<std::string> checkpoint() = 0;
};

/// What happens to files whose output goes away before it has finished.
enum class Unfinished : std::uint8_t {
  kRemoved,
  kKept,  ///< They stay, as PATH.unfinished, for resume_token_output().
};

/// Begin to write. \param manifest  What is said of the tokens; its shards are empty. \param shard_tokens  A shard of a
/// folder ends with the document that reaches so many.
/// Errors: kInvalidArgument  something of that name is there, or the type is none of Megatron's; kWriteFailed.
Result<std::unique_ptr<TokenOutput>> open_token_output(OutputFormat format, const std::string& path,
                                                       TokenManifest manifest, std::uint64_t shard_tokens,
                                                       Unfinished unfinished = Unfinished::kRemoved);
/// Go on with an output that was kept. What was written behind the checkpoint is cut off. Also where the files have
/// their names already, since nothing was said to be whole. Errors: kCorruptData  files are not what the checkpoint
/// says; kWriteFailed.
Result<std::unique_ptr<TokenOutput>> resume_token_output(OutputFormat format, const std::string& path,
                                                         TokenManifest manifest, std::uint64_t shard_tokens,
                                                         const std::string& checkpoint);
/// Return the files of a finished output, and others that lie in its folder.
std::vector<std::string> files_of(OutputFormat format, const std::string& path);
/// Remove what an output left that was kept and is not gone on with.
void remove_unfinished(OutputFormat format, const std::string& path);

}  // namespace headrace::token_files
