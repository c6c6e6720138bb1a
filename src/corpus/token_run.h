// TokenRun: encoded pieces on their way into an output, with checkpoints.
#pragma once

#include <headrace/tokenize.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "corpus/piece_schedule.h"
#include "corpus/progress_file.h"
#include "format/tokens/token_output.h"

namespace headrace::corpora {

/// Threads: one at a time.
class TokenRun {
 public:
  /// Begin, or go on with what an earlier process left, which may be the whole. Errors: kInvalidArgument  something is
  /// at `to`, another process writes it, or it is of other settings; those of writing.
  static Result<std::unique_ptr<TokenRun>> begin(const std::string& to, const Tokenizer& tokenizer,
                                                 const TokenizeOptions& options, std::string settings);
  /// Write a piece. Saves how far it is where the last time was long ago.
  Status take(std::size_t file, const TextPiece& piece, const EncodedPiece& encoded);
  /// Save how far it is, unless a piece or a checkpoint failed in the middle: then the last checkpoint stands.
  Status save();
  /// Give the files their names. Errors: kInvalidArgument  there is no token.
  Status finish();
  [[nodiscard]] const RunProgress& progress() const { return progress_; }

 private:
  TokenRun(std::string to, ProgressFile file, std::string settings, const TokenizeOptions& options)
      : to_(std::move(to)), file_(std::move(file)), settings_(std::move(settings)), options_(options) {}

  const std::string to_;
  ProgressFile file_;
  const std::string settings_;
  const TokenizeOptions options_;
  std::size_t width_ = 0;
  std::optional<std::uint32_t> end_of_text_;
  std::unique_ptr<token_files::TokenOutput> output_;
  RunProgress progress_;
  std::vector<std::byte> numbers_;
  std::uint64_t saved_ns_ = 0;
  bool is_finished_ = false;  ///< An earlier call has done it all.
  bool is_sound_ = true;      ///< False while the output and `progress_` may say different things.
};

/// Return the ids' type, their end and the tokenizer's name as writers take them.
/// Errors: kInvalidArgument  the tokenizer has no end of text and one is asked for; those of type_to_write().
Result<TokenWriterOptions> writer_options(const Tokenizer& tokenizer, const TokenizeOptions& options);

}  // namespace headrace::corpora
