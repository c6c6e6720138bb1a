// Pieces of a text file: about a MiB each, which end where a line ends, or where a text may be divided.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "format/text/text_stream.h"

namespace headrace::corpora {

/// Bytes behind a piece that may be read, as parsers with wide instructions do.
inline constexpr std::size_t kPaddingBytes = 64;

struct TextPiece {
  std::vector<char> bytes = {};  ///< With kPaddingBytes behind the text.
  std::uint64_t offset = 0;      ///< Where it begins in the text.
  std::uint64_t line = 1;        ///< Number of its first line.
  std::uint64_t end_offset = 0, end_line = 1, end_stored_offset = 0;
  bool is_last = false;  ///< The file ends with it.
  [[nodiscard]] std::string_view text() const { return {bytes.data(), bytes.size() - kPaddingBytes}; }
};

/// Threads: one at a time. Blocks: reads.
class PieceReader {
 public:
  /// Return the last place where a text may be divided, or 0.
  using LastCut = std::function<std::size_t(std::string_view)>;
  /// \param last_cut  Empty: pieces end behind newlines. \param piece_bytes  A piece has so many, about; \param
  /// most_bytes  at most.
  PieceReader(std::unique_ptr<text_files::TextStream> stream, LastCut last_cut, std::size_t piece_bytes,
              std::size_t most_bytes);
  /// Go on at a place where a piece has ended. Errors: as TextStream::skip_to().
  Status skip_to(std::uint64_t offset, std::uint64_t line);
  /// Read the next piece. The last one may be empty. Errors: kOutOfBudget  a line, or a text that cannot be divided, is
  /// larger than `most_bytes`; those of reading.
  Result<TextPiece> next();

 private:
  [[nodiscard]] std::size_t end_of_piece(std::string_view text) const;

  std::unique_ptr<text_files::TextStream> stream_;
  LastCut last_cut_;
  std::size_t piece_bytes_, most_bytes_;
  std::vector<char> carry_;  ///< What was read behind the last piece.
  std::uint64_t line_ = 1;
};

}  // namespace headrace::corpora
