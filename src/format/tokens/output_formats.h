// The outputs of each format, from their start or from a checkpoint.
#pragma once

#include <memory>
#include <string>

#include "format/tokens/token_output.h"

namespace headrace::token_files {

/// \param checkpoint  Null: begin. Errors: as open_token_output() and resume_token_output().
Result<std::unique_ptr<TokenOutput>> open_flat_output(const std::string& path, Unfinished unfinished,
                                                      const std::string* checkpoint);
Result<std::unique_ptr<TokenOutput>> open_megatron_output(const std::string& stem, DType dtype, Unfinished unfinished,
                                                          const std::string* checkpoint);
/// Open a folder of .npy files.
Result<std::unique_ptr<TokenOutput>> open_folder_output(const std::string& path, TokenManifest manifest,
                                                        std::uint64_t shard_tokens, Unfinished unfinished,
                                                        const std::string* checkpoint);

/// Return the path of Megatron's pair without an ending.
std::string stem_of(const std::string& path);

}  // namespace headrace::token_files
