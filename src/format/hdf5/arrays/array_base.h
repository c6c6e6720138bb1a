// What all array readers of HDF5 share: description, geometry, and errors that name the place.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/packed.h"
#include "format/format_reader.h"
#include "format/hdf5/dataset_info.h"
#include "format/hdf5/file_state.h"

namespace headrace::hdf5 {

class ArrayBase : public ArrayReader {
 public:
  ArrayBase(std::shared_ptr<FileState> state, DatasetInfo info);
  ~ArrayBase() override;
  [[nodiscard]] const ArrayInfo& info() const override { return info_.array; }
  [[nodiscard]] RowGeometry geometry(std::uint32_t across, std::size_t column) const override;
  [[nodiscard]] RowGeometry element_geometry(std::size_t column) const override;
  [[nodiscard]] Status check_unchanged() const override;
  /// Append what remembered_array() makes this array of again. \return False if it cannot be read without libhdf5.
  virtual bool remember(PackedWriter&) const { return false; }
  [[nodiscard]] const DatasetInfo& described() const { return info_; }
  [[nodiscard]] const RandomAccessFile& file() const { return *state_->driver->file; }
  /// Box of the dense row that a piece fills, and the shape of a row in it (padding included).
  struct RowBox {
    std::vector<std::uint64_t> src_shape, dst_start, count;
  };
  /// \param across  Piece.across.
  [[nodiscard]] virtual RowBox row_box_of(std::uint32_t across) const;

 protected:
  /// Errors: kInvalidArgument for rows past the end.
  Status check_rows(RowRange rows) const;
  /// Return `error` with file and field, and what to run next.
  Error placed(Error error) const;
  /// Return the same with the piece's chunk and bytes.
  Error placed(Error error, const Piece& piece) const;

  std::shared_ptr<FileState> state_;
  DatasetInfo info_;
};

/// Arrays whose rows can be had one by one: a piece is exactly the rows asked for.
class RowsArray : public ArrayBase {
 public:
  using ArrayBase::ArrayBase;
  Status locate(RowRange rows, std::vector<Piece>& out) const override;
  [[nodiscard]] std::uint32_t pieces_across() const override { return 1; }
  [[nodiscard]] std::string piece_name(const Piece&) const override { return {}; }

 protected:
  /// Return where rows lie in the file; size 0 where there is nothing to read ahead.
  [[nodiscard]] virtual ByteRange stored_range(RowRange) const { return {}; }
  [[nodiscard]] std::size_t bytes_of(RowRange rows) const {
    return static_cast<std::size_t>(rows.count * info_.row_bytes);
  }
  [[nodiscard]] std::uint64_t elements_of(std::uint64_t rows) const {
    return info_.row_bytes == 0 ? 0 : rows * (info_.row_bytes / info_.element.record_bytes);
  }
};

/// Return nothing to point at: what decode() returns for rows of no bytes.
DecodedPiece empty_rows();

}  // namespace headrace::hdf5
