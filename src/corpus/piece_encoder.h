// A piece of text → tokens, and where its documents end.
#pragma once

#include <headrace/tokenizer.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "corpus/corpus_files.h"
#include "corpus/json_text.h"
#include "corpus/text_piece.h"

namespace headrace::corpora {

/// What became of a piece.
struct EncodedPiece {
  std::vector<std::uint32_t> ids = {};
  std::vector<std::size_t> ends = {};  ///< For each document that ends in the piece: the ids before its end.
  std::uint64_t skipped = 0;
  std::string first_skipped = {};
  std::optional<Error> error = {};  ///< What stops the work; ids before it are whole documents.
};

/// Return the error of a byte that is no UTF-8. \param place  In the document.
Error ill_formed(std::uint64_t place, char byte);

/// Threads: one at a time; the tokenizer is shared.
class PieceEncoder {
 public:
  /// Errors: those of JsonText::make().
  static Result<PieceEncoder> make(const Tokenizer& tokenizer, const TokenizeOptions& options);
  EncodedPiece encode(const CorpusFile& file, const TextPiece& piece);
  /// As TextEncoder::limit_memory().
  void limit_memory(std::size_t bytes) { encoder_.limit_memory(bytes); }

 private:
  PieceEncoder(const Tokenizer& tokenizer, const TokenizeOptions& options, JsonText json)
      : encoder_(tokenizer), options_(options), json_(std::move(json)) {}
  Status encode_lines(const CorpusFile& file, const TextPiece& piece, EncodedPiece& out);
  Status encode_line(TextKind kind, std::string_view line, EncodedPiece& out);
  Status encode_text(std::string_view text, EncodedPiece& out);

  TextEncoder encoder_;
  TokenizeOptions options_;
  JsonText json_;
  std::string replaced_ = {};
};

}  // namespace headrace::corpora
