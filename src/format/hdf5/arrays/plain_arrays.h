// Arrays without chunks: contiguous, never written, compact, and in external raw files.
#pragma once

#include <memory>
#include <vector>

#include "format/hdf5/arrays/array_base.h"

namespace headrace::hdf5 {

/// Contiguous rows in the file. Native numbers: decode() returns a view of `stored`.
class ContiguousArray final : public RowsArray {
 public:
  /// \param address  Of row 0. The caller has checked that all rows lie in the file.
  ContiguousArray(std::shared_ptr<FileState> state, DatasetInfo info, std::uint64_t address)
      : RowsArray(std::move(state), std::move(info)), address_(address) {}
  bool remember(PackedWriter& out) const override;
  Result<DecodedPiece> decode(const Piece&, std::span<const std::byte> stored, const DecodeScratch&) const override;
  [[nodiscard]] bool is_plain(const Piece&) const override {
    return !info_.element.memory_type.ok() && info_.element.is_native();
  }
  [[nodiscard]] ScratchNeed scratch_need(std::uint64_t max_rows) const override;
  /// Return the array; null where numbers are converted by libhdf5.
  [[nodiscard]] std::shared_ptr<ArrayReader> merged(std::size_t axes) const override;

 protected:
  [[nodiscard]] ByteRange stored_range(RowRange rows) const override {
    return {address_ + rows.first * info_.stored_row_bytes(), rows.count * info_.stored_row_bytes()};
  }

 private:
  std::uint64_t address_;
};

/// Rows that were never written: the fill value is their meaning. Also arrays whose rows have no bytes.
class FillArray final : public RowsArray {
 public:
  FillArray(std::shared_ptr<FileState> state, DatasetInfo info, std::vector<std::byte> fill_element)
      : RowsArray(std::move(state), std::move(info)), fill_element_(std::move(fill_element)) {}
  bool remember(PackedWriter& out) const override;
  Result<std::uint64_t> locate_written(RowRange rows, std::vector<Piece>& out) const override;
  Result<DecodedPiece> decode(const Piece&, std::span<const std::byte> stored, const DecodeScratch&) const override;
  [[nodiscard]] ScratchNeed scratch_need(std::uint64_t max_rows) const override;

 private:
  std::vector<std::byte> fill_element_;
};

/// Rows inside the object header (compact layout, at most 64 KiB), held in memory in native order.
class MemoryArray final : public RowsArray {
 public:
  MemoryArray(std::shared_ptr<FileState> state, DatasetInfo info, std::vector<std::byte> bytes)
      : RowsArray(std::move(state), std::move(info)), bytes_(std::move(bytes)) {}
  bool remember(PackedWriter& out) const override;
  Result<DecodedPiece> decode(const Piece&, std::span<const std::byte> stored, const DecodeScratch&) const override;
  [[nodiscard]] ScratchNeed scratch_need(std::uint64_t) const override { return {}; }

 private:
  std::vector<std::byte> bytes_;
};

/// Rows in external raw files, read by ourselves (libhdf5 would answer a short file with zeros).
class ExternalArray final : public RowsArray {
 public:
  /// Errors: of opening the files.
  static Result<std::shared_ptr<ArrayBase>> open(std::shared_ptr<FileState> state, DatasetInfo info);
  Result<DecodedPiece> decode(const Piece&, std::span<const std::byte> stored, const DecodeScratch&) const override;
  [[nodiscard]] ScratchNeed scratch_need(std::uint64_t max_rows) const override;
  [[nodiscard]] std::vector<OutsideFile> other_files() const override;

 private:
  using RowsArray::RowsArray;
  std::vector<std::shared_ptr<RandomAccessFile>> files_;  // one for every segment
};

}  // namespace headrace::hdf5
