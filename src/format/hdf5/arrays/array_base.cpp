#include "format/hdf5/arrays/array_base.h"

#include <fmt/format.h>

namespace headrace::hdf5 {

ArrayBase::ArrayBase(std::shared_ptr<FileState> state, DatasetInfo info)
    : state_(std::move(state)), info_(std::move(info)) {}

ArrayBase::~ArrayBase() {
  if (!info_.element.memory_type.ok()) return;
  const LibraryLock library;
  info_.element.memory_type.reset();
  info_.element.stored_type.reset();
}

Status ArrayBase::check_unchanged() const {
  Status status = state_->driver->file->check_unchanged();
  if (status.ok()) return status;
  return placed(std::move(status.error().with_stage("read")));
}

Status ArrayBase::check_rows(RowRange rows) const {
  const std::uint64_t have = info().rows();
  if (rows.first <= have && rows.count <= have - rows.first) return {};
  return placed(Error(ErrorCode::kInvalidArgument,
                      fmt::format("{} rows from {} on of an array of {}", rows.count, rows.first, have)));
}

Error ArrayBase::placed(Error error, const Piece& piece) const {
  error.with_chunk(piece_name(piece)).with_bytes(piece.stored.range);
  return placed(std::move(error));
}

Error ArrayBase::placed(Error error) const {
  error.with_file(state_->path).with_field(info().path);
  if (error.code() == ErrorCode::kCorruptData)
    error.with_stage("decode").with_hint(fmt::format("Run: headrace verify {}", state_->path));
  return error;
}

ArrayBase::RowBox ArrayBase::row_box_of(std::uint32_t) const {
  RowBox box;
  box.src_shape.assign(info().shape.begin() + 1, info().shape.end());
  box.dst_start.assign(box.src_shape.size(), 0);
  box.count = box.src_shape;
  return box;
}

RowGeometry ArrayBase::element_geometry(std::size_t column) const {
  const Leaf& leaf = info_.element.leaves[column];
  const std::vector<std::uint64_t>& inner = leaf.column.inner_shape;
  RowGeometry g = ArrayReader::element_geometry(column);
  std::uint64_t dense = leaf.column.dtype.itemsize;
  bool touching = true;
  for (std::size_t d = inner.size(); d-- > 0;) {
    touching = touching && leaf.inner_strides_bytes[d] == dense;
    dense *= inner[d];
  }
  if (touching) return g;
  // The entries of an array member may themselves be members of records: not one run, but a loop for every dimension.
  g.run_bytes = leaf.column.dtype.itemsize;
  for (std::size_t d = 0; d < inner.size(); ++d) {
    dense /= inner[d] == 0 ? 1 : inner[d];
    g.loops.push_back({static_cast<std::size_t>(inner[d]), static_cast<std::size_t>(leaf.inner_strides_bytes[d]),
                       static_cast<std::size_t>(dense)});
  }
  return g;
}

RowGeometry ArrayBase::geometry(std::uint32_t across, std::size_t column) const {
  const RowBox box = row_box_of(across);
  const std::vector<std::uint64_t> row_shape(info().shape.begin() + 1, info().shape.end());
  const std::vector<std::uint64_t> zeros(box.src_shape.size(), 0);
  return row_box(box.src_shape, row_shape, zeros, box.dst_start, box.count, info_.element.record_bytes,
                 element_geometry(column));
}

Status RowsArray::locate(RowRange rows, std::vector<Piece>& out) const {
  HEADRACE_TRY(check_rows(rows));
  if (rows.count == 0) return {};
  Piece piece;
  piece.id = rows.first;
  piece.rows = rows;
  piece.stored = {state_->driver->file.get(), stored_range(rows)};
  piece.decoded_bytes = bytes_of(rows);
  out.push_back(piece);
  return {};
}

DecodedPiece empty_rows() {
  static const std::byte nothing{};
  return {&nothing, 0};
}

}  // namespace headrace::hdf5
