// Virtual datasets, put together by ourselves: rows of the sources are decoded by their own readers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "format/hdf5/arrays/array_base.h"
#include "format/hdf5/virtual/virtual_mapping.h"

namespace headrace::hdf5 {

/// Rows are addressable one by one. A piece has no stored bytes: decode() reads those of the sources, a source's chunk
/// or some hundred KiB of its rows at a time, each of which must not have changed since it was opened.
class VirtualArray final : public RowsArray {
 public:
  /// \param info  With its virtual_layout.
  VirtualArray(std::shared_ptr<FileState> state, DatasetInfo info, std::vector<std::byte> fill_element);

  /// Errors: those of the sources, which name the source's file, dataset and chunk; kFileChanged.
  /// Blocks: until the sources' bytes are there.
  Result<DecodedPiece> decode(const Piece&, std::span<const std::byte> stored, const DecodeScratch&) const override;
  [[nodiscard]] ScratchNeed scratch_need(std::uint64_t max_rows) const override;
  [[nodiscard]] std::vector<OutsideFile> other_files() const override;
  Result<std::uint64_t> locate_written(RowRange rows, std::vector<Piece>& out) const override;

 private:
  [[nodiscard]] bool all_rows_mapped() const;
  [[nodiscard]] RowRange next_mapped(std::uint64_t row) const;

  std::vector<std::byte> fill_element_;
  std::vector<PreparedSource> sources_;
  std::vector<PreparedMapping> mappings_;    // in the order in which they hide each other
  std::vector<std::uint32_t> by_first_row_;  // numbers of mappings
  std::vector<std::uint64_t> ends_;          // for each of by_first_row_: the last row's end of it and all before it
  std::uint64_t source_bytes_ = 0;           // scratch for decoding any source, beside the rows themselves
  std::uint64_t filter_bytes_ = 0;
  bool needs_fill_ = true;
};

}  // namespace headrace::hdf5
