#include "corpus/text_piece.h"

#include <fmt/format.h>
#include <headrace/bytes.h>

#include <algorithm>
#include <utility>

namespace headrace::corpora {

PieceReader::PieceReader(std::unique_ptr<text_files::TextStream> stream, LastCut last_cut, std::size_t piece_bytes)
    : stream_(std::move(stream)), last_cut_(std::move(last_cut)), piece_bytes_(piece_bytes) {}

Status PieceReader::skip_to(std::uint64_t offset, std::uint64_t line) {
  carry_.clear();
  line_ = line;
  return stream_->skip_to(offset);
}

std::size_t PieceReader::end_of_piece(std::string_view text) const {
  if (last_cut_) return last_cut_(text);
  const std::size_t newline = text.rfind('\n');
  return newline == std::string_view::npos ? 0 : newline + 1;
}

Result<std::optional<TextPiece>> PieceReader::next(const AskRoom& ask) {
  TextPiece piece;
  if (!left_out_.empty()) {
    piece.left_out = left_out_;
    piece.end_stored_offset = stream_->file().size();
    piece.is_last = true;
    return std::optional(std::move(piece));
  }
  piece.offset = stream_->offset() - carry_.size();
  piece.line = line_;
  std::vector<char> bytes = std::exchange(carry_, {});
  std::size_t end = 0;
  for (std::size_t wanted = std::max(piece_bytes_, bytes.size() + piece_bytes_ / 2); end == 0; wanted *= 2) {
    Room room = wanted > piece_bytes_ + piece_bytes_ / 2 ? ask(wanted) : Room::kYes;
    while (room != Room::kYes && wanted > bytes.size() + piece_bytes_)  // there may be room for a smaller step
      room = ask(wanted = bytes.size() + (wanted - bytes.size()) / 2);
    if (room == Room::kNever)
      return Error(ErrorCode::kOutOfBudget,
                   fmt::format("line {}: {} follow that cannot be divided", line_, format_bytes(bytes.size())))
          .with_file(stream_->file().name())
          .with_hint("Give more memory, or divide the document.");
    if (room == Room::kLater) {
      carry_ = std::move(bytes);
      return std::optional<TextPiece>();
    }
    const std::size_t before = bytes.size();
    bytes.resize(std::max(wanted, before));
    HEADRACE_ASSIGN(const std::size_t read, stream_->read(std::as_writable_bytes(std::span(bytes).subspan(before))));
    piece.is_last = read < bytes.size() - before;
    bytes.resize(before + read);
    end = piece.is_last ? bytes.size() : end_of_piece({bytes.data(), bytes.size()});
    if (piece.is_last) break;
  }
  if (piece.is_last) HEADRACE_TRY(stream_->file().check_unchanged());  // what was read may be old and new
  carry_.assign(bytes.begin() + static_cast<std::ptrdiff_t>(end), bytes.end());
  bytes.resize(end);
  line_ += static_cast<std::uint64_t>(std::ranges::count(bytes, '\n'));
  bytes.resize(end + kPaddingBytes);
  piece.bytes = std::move(bytes);
  piece.end_offset = stream_->offset() - carry_.size();
  piece.end_line = line_;
  piece.end_stored_offset = stream_->stored_offset();
  return std::optional(std::move(piece));
}

}  // namespace headrace::corpora
