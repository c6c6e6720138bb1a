// SampleMap: the rows or chunks that a sample is made of: a window, a span, a list or a patch.
//
// A sample lies in one or more units (what is decoded at once: a block of rows, a cell of a grid). The share of it that
// lies in one unit is a part. `order` shuffles samples by their shuffle block, the block of samples that are best read
// together; it never sees units. Which parts a sample has, and how long it is, follows from an index and is known
// before a byte is read, so that places in a batch and the sizes of its fields follow from the plan.
//
// Units belong to groups: columns that decode together and share one numbering of rows. Where samples are rows there is
// no map: a block is its own shuffle block and unit.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "catalog/block.h"
#include "catalog/epoch_seed.h"
#include "catalog/sample_ref.h"

namespace headrace {

/// Shuffle blocks of a map are numbered in 32 bits: so many at most.
inline constexpr std::uint64_t kMostShuffleBlocks = std::uint64_t{1} << 31;

/// The share of a sample that lies in one unit.
struct Part {
  std::uint32_t unit = 0;            ///< Unit of the map: groups one after the other.
  std::uint32_t row = 0, count = 1;  ///< Rows of the unit; of a grid's cell, what lies in the sample's box.
  std::uint64_t place = 0;           ///< Row inside the sample, of the group's rows; of a box, its number.
};

/// Columns that decode together.
struct UnitGroup {
  enum class Rows : std::uint8_t {
    kFixed,   ///< Every sample has `rows_per_sample` rows.
    kRagged,  ///< As many as SampleMap::lengths() says.
  };
  std::uint32_t num_units = 0;
  Rows rows = Rows::kFixed;
  std::uint64_t rows_per_sample = 1;
  bool is_row = false;  ///< Every sample has a row, and no axis of rows.
};

/// Immutable. Threads: all members from any thread at once.
class SampleMap {
 public:
  virtual ~SampleMap() = default;
  /// Return the blocks of samples that an order shuffles.
  [[nodiscard]] virtual const std::shared_ptr<const BlockTable>& shuffle_blocks() const = 0;
  [[nodiscard]] virtual std::span<const UnitGroup> groups() const = 0;

  /// Append the parts of each sample to `parts`, sample after sample, and to `ends` how many there are after each.
  /// \param draws  Whose samples they are, where each epoch draws others.
  virtual void expand(std::span<const SampleRef> samples, EpochSeed draws, std::vector<Part>& parts,
                      std::vector<std::uint32_t>& ends) const = 0;
  /// Append the rows that each sample has in a ragged group.
  virtual void lengths(std::span<const SampleRef> samples, std::size_t group,
                       std::vector<std::uint64_t>& out) const = 0;

  /// Append the units that samples of a shuffle block have parts in, each once. \param draws  As expand().
  virtual void units_of(std::uint32_t block, EpochSeed draws, std::vector<std::uint32_t>& out) const = 0;
  /// Append the shuffle blocks whose samples have parts in a unit, each once.
  virtual void blocks_of(std::uint32_t unit, std::vector<std::uint32_t>& out) const = 0;
  /// What units_of() and blocks_of() know.
  enum class BlockUnits : std::uint8_t {
    kSettled,  ///< Every unit that an epoch asks for: a unit is done with once its shuffle blocks are.
    kByEpoch,  ///< Samples are drawn, and units_of() tells for each epoch what a shuffle block asks for; blocks_of()
               ///< nothing.
    kUnknown,  ///< Samples are drawn, and nothing is known of a shuffle block.
  };
  [[nodiscard]] virtual BlockUnits block_units() const { return BlockUnits::kSettled; }
  /// Return true if each epoch draws its samples anew.
  [[nodiscard]] bool draws_samples() const { return block_units() != BlockUnits::kSettled; }

  /// Return what a part adds to the sum that proves it was put in place: the hash of what is copied, from where, to
  /// where, times what the columns of its group weigh. \param place  Place 0 of the sample in its group's rows of the
  /// batch, counted through the epoch's batches.
  [[nodiscard]] virtual std::uint64_t part_hash(SampleRef sample, const Part& part, std::uint64_t place) const = 0;

  /// Return the rows of group 0 that a sample has, or has some of where these are drawn, numbered through all files;
  /// nullopt where it is made of no such run.
  [[nodiscard]] virtual std::optional<RowRange> rows_of(SampleRef /*sample*/) const { return std::nullopt; }
  /// Return where a sample lies: the number of its file and a row of that, or its number there where the file has it as
  /// an array of its own. Nullopt: rows_of() says it.
  struct FileRow {
    std::uint32_t file;
    std::uint64_t row;
  };
  [[nodiscard]] virtual std::optional<FileRow> file_row_of(SampleRef /*sample*/) const { return std::nullopt; }
  /// Return how many parts a sample has, about, for the memory that a plan of them takes.
  [[nodiscard]] virtual std::uint64_t usual_parts() const { return groups().size() + 1; }

  /// Return what the map's lists hold, beside shuffle_blocks().
  [[nodiscard]] virtual std::uint64_t memory_bytes() const = 0;

  /// Return the group of a unit, and the unit's number in it.
  struct GroupUnit {
    std::uint32_t group, unit;
  };
  [[nodiscard]] GroupUnit group_of(std::uint32_t unit) const {
    std::uint32_t group = 0;
    for (const UnitGroup& g : groups()) {
      if (unit < g.num_units) break;
      unit -= g.num_units;
      ++group;
    }
    return {group, unit};
  }
  [[nodiscard]] std::uint32_t num_units() const {
    std::uint32_t n = 0;
    for (const UnitGroup& g : groups()) n += g.num_units;
    return n;
  }
};

}  // namespace headrace
