// UnitLocator: which stored bytes a unit of any kind of sample is decoded from.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "assembly/block_layout.h"
#include "assembly/pieces/piece_planner.h"
#include "assembly/sample_source.h"
#include "catalog/block.h"

namespace headrace {

/// Immutable; keeps what it names alive. Threads: any. Blocks: locate() may look at files, and read indexes of chunks.
class UnitLocator {
 public:
  /// \param layout, blocks  Of the rows, where samples are rows.
  UnitLocator(SampleSource source, BlockLayout layout, std::shared_ptr<const BlockTable> blocks);

  /// Append the bytes that locate() and decoders read by themselves, such as headers of pages and dictionaries.
  void list_beside(std::uint32_t unit, std::vector<FileRange>& out) const;
  /// Append the pieces that the unit is decoded from. \param wanted  Rows of a unit of rows that are; null: all. Chunks
  /// in files of their own are located whatever is wanted of them. Errors: as ArrayReader::locate().
  Status locate(std::uint32_t unit, WantedRows* wanted, std::vector<PieceTask>& out) const;
  /// Ask an array of the unit whether it changed. Errors: as ArrayReader::check_unchanged().
  [[nodiscard]] Status check_unchanged(std::uint32_t unit, std::size_t array) const;
  [[nodiscard]] std::uint32_t num_units() const;
  /// Return how many arrays a unit may have.
  [[nodiscard]] std::size_t num_arrays(std::uint32_t unit) const;

 private:
  /// Rows of some arrays of a file, or a cell of one.
  struct Place {
    const SourceFile* file = nullptr;
    const FileLayout* layout = nullptr;  ///< Null: a cell.
    RowRange rows;
    const CellGrid* grid = nullptr;
    std::uint64_t cell = 0;
  };
  [[nodiscard]] Place place_of(std::uint32_t unit) const;
  [[nodiscard]] static bool is_resident(const Place& place, std::size_t array);

  const SampleSource source_;
  const BlockLayout layout_;
  const std::shared_ptr<const BlockTable> blocks_;
};

}  // namespace headrace
