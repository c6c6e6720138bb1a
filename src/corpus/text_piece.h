// Pieces of a text file: about a MiB each, which end where a line ends, or where a text may be divided.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
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
  bool is_last = false;       ///< The file ends with it.
  std::string left_out = {};  ///< Why the document that is the file is left out; then there is no text.
  [[nodiscard]] std::string_view text() const {
    return {bytes.data(), bytes.size() - std::min(bytes.size(), kPaddingBytes)};
  }
};

/// Threads: one at a time. Blocks: reads.
class PieceReader {
 public:
  /// Return the last place where a text may be divided, or 0.
  using LastCut = std::function<std::size_t(std::string_view)>;
  /// Whether there is memory for a piece of so many bytes, more than usual.
  enum class Room : std::uint8_t { kYes, kLater, kNever };
  using AskRoom = std::function<Room(std::size_t bytes)>;
  /// \param last_cut  Empty: pieces end behind newlines. \param piece_bytes  A piece has so many, about; where it ends
  /// later, next() asks for room.
  PieceReader(std::unique_ptr<text_files::TextStream> stream, LastCut last_cut, std::size_t piece_bytes);
  /// Leave one piece from now on, without text, that says why.
  void leave_out(std::string why) { left_out_ = std::move(why); }
  /// Go on at a place where a piece has ended. Errors: as TextStream::skip_to().
  Status skip_to(std::uint64_t offset, std::uint64_t line);
  /// Read the next piece. The last one may be empty. \return Nothing: there is no room now; the next call goes on.
  /// Errors: kOutOfBudget  there never is room for a line, or a text that cannot be divided; kFileChanged  the file is
  /// another one at its end; those of reading.
  Result<std::optional<TextPiece>> next(const AskRoom& ask);
  [[nodiscard]] const text_files::TextStream& stream() const { return *stream_; }

 private:
  [[nodiscard]] std::size_t end_of_piece(std::string_view text) const;

  std::unique_ptr<text_files::TextStream> stream_;
  LastCut last_cut_;
  std::size_t piece_bytes_;
  std::vector<char> carry_;  ///< What was read behind the last piece.
  std::uint64_t line_ = 1;
  std::string left_out_;
};

}  // namespace headrace::corpora
