#include "format/flattened_array.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "format/chunk_grid.h"
#include "format/merged_chunks.h"

namespace headrace {
namespace {

constexpr std::uint64_t kGroupBytes = 256 << 10;  // rows of the array that are decoded together where it has no chunks

/// What both ways to read have in common: the array beneath, and pieces of it.
class FlattenedArray : public ArrayReader {
 public:
  [[nodiscard]] const ArrayInfo& info() const override { return info_; }
  Result<DecodedPiece> decode(const Piece& piece, std::span<const std::byte> stored,
                              const DecodeScratch& scratch) const override {
    HEADRACE_ASSIGN(DecodedPiece decoded, inner_->decode(inner_piece(piece), stored, scratch));
    decoded.row_stride_bytes /= cells_a_row_;
    return decoded;
  }
  [[nodiscard]] RowGeometry element_geometry(std::size_t column) const override {
    return inner_->element_geometry(column);
  }
  [[nodiscard]] std::string piece_name(const Piece& piece) const override {
    return inner_->piece_name(inner_piece(piece));
  }
  [[nodiscard]] std::uint64_t slow_pieces() const override { return inner_->slow_pieces(); }
  [[nodiscard]] Status check_unchanged() const override { return inner_->check_unchanged(); }
  [[nodiscard]] bool has_chunk_files() const override { return inner_->has_chunk_files(); }
  [[nodiscard]] std::vector<OutsideFile> other_files() const override { return inner_->other_files(); }

 protected:
  FlattenedArray(std::shared_ptr<ArrayReader> inner, ArrayInfo info, std::uint64_t cells_a_row)
      : inner_(std::move(inner)), info_(std::move(info)), cells_a_row_(std::max<std::uint64_t>(cells_a_row, 1)) {}
  /// Return the piece as the array beneath knows it.
  [[nodiscard]] virtual Piece inner_piece(const Piece& piece) const = 0;
  [[nodiscard]] Status check(RowRange rows) const {
    if (rows.first <= info_.rows() && rows.count <= info_.rows() - rows.first) return {};
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("{} rows from {} on of an array of {}", rows.count, rows.first, info_.rows()))
        .with_field(info_.path);
  }

  const std::shared_ptr<ArrayReader> inner_;
  ArrayInfo info_;
  const std::uint64_t cells_a_row_;  // of a row as it is decoded, with the padding of its chunk
};

/// Whole rows of the array beneath, some at a time.
class WholeRows final : public FlattenedArray {
 public:
  WholeRows(std::shared_ptr<ArrayReader> inner, ArrayInfo info, std::uint64_t cells_a_row)
      : FlattenedArray(std::move(inner), std::move(info), cells_a_row) {
    const ArrayInfo& array = inner_->info();
    const std::uint64_t row_bytes = std::max<std::uint64_t>(array.row_record_bytes(), 1);
    group_rows_ = array.chunk_shape.empty() ? std::max<std::uint64_t>(kGroupBytes / row_bytes, 1) : array.chunk_rows();
    group_rows_ = std::clamp<std::uint64_t>(group_rows_, 1, std::max<std::uint64_t>(array.rows(), 1));
    info_.chunk_shape = info_.shape;
    info_.chunk_shape[0] = group_rows_ * cells_a_row_;
  }
  Status locate(RowRange rows, std::vector<Piece>& out) const override {
    HEADRACE_TRY(check(rows));
    if (rows.count == 0) return {};
    const ArrayInfo& array = inner_->info();
    std::vector<Piece> pieces;
    for (std::uint64_t row = rows.first / cells_a_row_ / group_rows_ * group_rows_; row * cells_a_row_ < rows.end();
         row += group_rows_)
      HEADRACE_TRY(inner_->locate({row, std::min(group_rows_, array.rows() - row)}, pieces));
    for (Piece& piece : pieces) {
      piece.rows = {piece.rows.first * cells_a_row_, piece.rows.count * cells_a_row_};
      out.push_back(piece);
    }
    return {};
  }
  [[nodiscard]] std::uint32_t pieces_across() const override { return 1; }
  [[nodiscard]] RowGeometry geometry(std::uint32_t, std::size_t column) const override {
    const std::vector<std::uint64_t> shape(info_.shape.begin() + 1, info_.shape.end()), zeros(shape.size(), 0);
    return row_box(shape, shape, zeros, zeros, shape, info_.record_bytes, element_geometry(column));
  }
  [[nodiscard]] ScratchNeed scratch_need(std::uint64_t) const override { return inner_->scratch_need(group_rows_); }

 protected:
  [[nodiscard]] Piece inner_piece(const Piece& piece) const override {
    Piece made = piece;
    made.rows = {piece.rows.first / cells_a_row_, piece.rows.count / cells_a_row_};
    return made;
  }

 private:
  std::uint64_t group_rows_ = 1;
};

/// Chunk by chunk.
class Cells final : public FlattenedArray {
 public:
  Cells(std::shared_ptr<ArrayReader> inner, ArrayInfo info, MergedChunks chunks)
      : FlattenedArray(std::move(inner), std::move(info), chunks.cells_a_row()), chunks_(std::move(chunks)) {
    info_.chunk_shape.erase(info_.chunk_shape.begin() + 1,
                            info_.chunk_shape.begin() + static_cast<std::ptrdiff_t>(chunks_.axes()));
    info_.chunk_shape[0] = chunks_.rows_together(info_.row_record_bytes(), info_.chunk_ends);
  }
  Status locate(RowRange rows, std::vector<Piece>& out) const override {
    HEADRACE_TRY(check(rows));
    if (rows.count == 0) return {};
    std::vector<std::uint64_t> cells;
    chunks_.cells_of(rows, cells);
    const std::size_t before = out.size();
    HEADRACE_TRY(inner_->locate_cells(cells, out));
    for (Piece& piece : std::span(out).subspan(before)) {
      piece.rows = chunks_.rows_of(piece.id);
      piece.across = static_cast<std::uint32_t>(piece.id % chunks_.across());
    }
    return {};
  }
  void runs(const Piece& piece, std::vector<PieceRun>& out) const override { chunks_.runs_of(piece.id, out); }
  [[nodiscard]] std::uint32_t pieces_across() const override { return static_cast<std::uint32_t>(chunks_.across()); }
  [[nodiscard]] RowGeometry geometry(std::uint32_t across, std::size_t column) const override {
    std::vector<std::uint64_t> chunk = info_.chunk_shape;
    chunk[0] = std::max<std::uint64_t>(chunk[0], 1);  // the geometry of a row does not depend on it
    return ChunkGrid(info_.shape, std::move(chunk)).geometry(across, info_.record_bytes, element_geometry(column));
  }
  [[nodiscard]] ScratchNeed scratch_need(std::uint64_t) const override {
    return inner_->scratch_need(inner_->info().chunk_rows());
  }

 protected:
  [[nodiscard]] Piece inner_piece(const Piece& piece) const override {
    const ArrayInfo& array = inner_->info();
    Piece made = piece;
    const std::uint64_t across = inner_->pieces_across(), first = piece.id / across * array.chunk_rows();
    made.rows = {first, std::min(array.chunk_rows(), array.rows() - first)};
    made.across = static_cast<std::uint32_t>(piece.id % across);
    return made;
  }

 private:
  const MergedChunks chunks_;
};

}  // namespace

Result<std::shared_ptr<ArrayReader>> flatten(std::shared_ptr<ArrayReader> array, std::size_t axes) {
  if (axes == 1) return array;
  const ArrayInfo& whole = array->info();
  if (axes == 0 || axes > whole.shape.size())
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("{} axes of an array of shape ({})", axes, fmt::join(whole.shape, ", ")))
        .with_field(whole.path);
  if (std::shared_ptr<ArrayReader> merged = array->merged(axes)) return merged;
  ArrayInfo info = whole;
  if (!info.merge_axes(axes))
    return Error(ErrorCode::kUnsupported, fmt::format("the first {} axes of shape ({}) have more than 2^64 "
                                                      "cells",
                                                      axes, fmt::join(whole.shape, ", ")))
        .with_field(whole.path);
  if (!whole.chunk_ends.empty())
    return Error(ErrorCode::kUnsupported, "axes of an array whose chunks differ in rows cannot be merged yet")
        .with_field(whole.path);
  const bool cells = !whole.chunk_shape.empty() && whole.read_path != ReadPath::kFallback;
  if (cells) {
    MergedChunks chunks(whole.shape, whole.chunk_shape, axes);
    return std::shared_ptr<ArrayReader>(std::make_shared<Cells>(std::move(array), std::move(info), std::move(chunks)));
  }
  const std::uint64_t cells_a_row = whole.rows() == 0 ? 1 : info.rows() / whole.rows();
  return std::shared_ptr<ArrayReader>(std::make_shared<WholeRows>(std::move(array), std::move(info), cells_a_row));
}

}  // namespace headrace
