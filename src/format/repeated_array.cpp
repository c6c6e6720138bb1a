#include "format/repeated_array.h"

#include <fmt/format.h>

#include <algorithm>

namespace headrace {
namespace {

class RepeatedArray final : public ArrayReader {
 public:
  RepeatedArray(std::shared_ptr<ArrayReader> inner, std::uint64_t times)
      : inner_(std::move(inner)), times_(std::max<std::uint64_t>(times, 1)), info_(inner_->info()) {
    info_.shape[0] *= times;
    info_.repeats = times_;
    if (!info_.chunk_shape.empty()) info_.chunk_shape[0] *= times_;
    for (std::uint64_t& end : info_.chunk_ends) end *= times_;
  }

  [[nodiscard]] const ArrayInfo& info() const override { return info_; }
  Status locate(RowRange rows, std::vector<Piece>& out) const override {
    if (rows.first > info_.rows() || rows.count > info_.rows() - rows.first)
      return Error(ErrorCode::kInvalidArgument,
                   fmt::format("{} rows from {} on of an array of {}", rows.count, rows.first, info_.rows()))
          .with_field(info_.path);
    if (rows.count == 0) return {};
    const std::size_t before = out.size();
    const std::uint64_t first = rows.first / times_;
    HEADRACE_TRY(inner_->locate({first, (rows.end() - 1) / times_ - first + 1}, out));
    const bool exact = info_.chunk_shape.empty();  // then there is one piece: of the rows asked for, and no others
    for (Piece& piece : std::span(out).subspan(before))
      piece.rows = exact ? rows : RowRange{piece.rows.first * times_, piece.rows.count * times_};
    return {};
  }
  void runs(const Piece& piece, std::vector<PieceRun>& out) const override {
    std::vector<PieceRun> stored;
    const Piece inner = inner_piece(piece);
    inner_->runs(inner, stored);
    if (stored.empty()) stored.push_back({inner.rows.first, inner.rows.count, 0});
    for (const PieceRun& run : stored)
      for (std::uint64_t i = 0; i < run.count; ++i) {
        const std::uint64_t first = std::max((run.first + i) * times_, piece.rows.first);
        out.push_back({first, std::min((run.first + i + 1) * times_, piece.rows.end()) - first, run.index + i});
      }
  }
  Result<DecodedPiece> decode(const Piece& piece, std::span<const std::byte> stored,
                              const DecodeScratch& scratch) const override {
    return inner_->decode(inner_piece(piece), stored, scratch);
  }
  [[nodiscard]] RowGeometry geometry(std::uint32_t across, std::size_t column) const override {
    return inner_->geometry(across, column);
  }
  [[nodiscard]] RowGeometry element_geometry(std::size_t column) const override {
    return inner_->element_geometry(column);
  }
  [[nodiscard]] std::uint32_t pieces_across() const override { return inner_->pieces_across(); }
  [[nodiscard]] ScratchNeed scratch_need(std::uint64_t max_rows) const override {
    return inner_->scratch_need(max_rows / times_ + 2);  // rows of a block may begin and end within a value's
  }
  [[nodiscard]] std::string piece_name(const Piece& piece) const override {
    return inner_->piece_name(inner_piece(piece));
  }
  [[nodiscard]] std::uint64_t slow_pieces() const override { return inner_->slow_pieces(); }
  [[nodiscard]] Status check_unchanged() const override { return inner_->check_unchanged(); }
  [[nodiscard]] bool has_chunk_files() const override { return inner_->has_chunk_files(); }
  [[nodiscard]] std::vector<OutsideFile> other_files() const override { return inner_->other_files(); }

 private:
  [[nodiscard]] Piece inner_piece(const Piece& piece) const {
    Piece made = piece;
    const std::uint64_t first = piece.rows.first / times_;
    made.rows = {first, (piece.rows.end() - 1) / times_ - first + 1};
    return made;
  }

  const std::shared_ptr<ArrayReader> inner_;
  const std::uint64_t times_;
  ArrayInfo info_;
};

}  // namespace

std::shared_ptr<ArrayReader> repeat(std::shared_ptr<ArrayReader> array, std::uint64_t times) {
  if (times == 1) return array;
  return std::make_shared<RepeatedArray>(std::move(array), times);
}

}  // namespace headrace
