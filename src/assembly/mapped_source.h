// MappedSource: samples that are made of rows (windows, spans, patches), and how they lie in the columns of one or more
// sources.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "assembly/block_layout.h"
#include "assembly/source.h"
#include "base/result.h"
#include "catalog/samples/box_map.h"
#include "catalog/samples/sample_map.h"

namespace headrace {

/// Columns of one group of a map. Its fields follow those of the group before in a batch.
struct SourceGroup {
  std::shared_ptr<const Source> source;
  BlockLayout layout;  ///< Layout of a group of rows: its blocks are the group's units.
  /// What an element past the end of a volume's array is, in its bytes.
  std::vector<std::byte> fill_element = {};
};

/// Sizes of samples in a slot, over all of its arrays.
struct SampleSizes {
  double mean_bytes = 0, deviation_bytes = 0;
  std::uint64_t most_bytes = 0;
  std::uint64_t largest = 0;           ///< Number of the first sample of so many bytes.
  std::uint64_t fixed_bytes = 0;       ///< What a sample takes whatever its length,
  std::uint64_t ragged_row_bytes = 0;  ///< and for each of its rows in ragged fields.
  /// Return the rows that a sample has in ragged fields, on average; 0: no field is ragged.
  [[nodiscard]] double mean_rows() const {
    if (ragged_row_bytes == 0) return 0;
    return (mean_bytes - static_cast<double>(fixed_bytes)) / static_cast<double>(ragged_row_bytes);
  }
  /// Return what `samples` that come in a random order take, but for one batch in millions.
  [[nodiscard]] std::uint64_t largest_batch_bytes(std::uint64_t samples) const;
};

struct MappedSource;

/// How samples are made of rows: what a selection of them, a choice of fields or a mixture does again. Immutable.
class SampleMaker {
 public:
  virtual ~SampleMaker() = default;
  /// Return text that differs for makers that make other samples of equal rows.
  [[nodiscard]] virtual std::string identity() const = 0;
  /// Return true if no sample has rows of several files.
  [[nodiscard]] virtual bool follows_files() const = 0;
  /// Return true if a row may be in several samples, which then follow each other.
  [[nodiscard]] virtual bool overlaps() const = 0;
  /// Return text that differs for makers whose samples cannot be in one batch.
  [[nodiscard]] virtual std::string form() const { return identity(); }
  /// A data set whose samples are to be mixed with others'.
  struct Part {
    std::string name;
    const SampleMaker* maker;
  };
  /// Return the maker of the samples of all parts, of which this is the first's, and whose form() is equal. \param rows
  /// Those of the parts, one part after the other. Throws kInvalidArgument where they cannot be one.
  [[nodiscard]] virtual std::shared_ptr<const SampleMaker> joined(std::span<const Part> parts,
                                                                  const Source& rows) const = 0;
  /// Return the same with another choice of columns in the table beside the rows. \param side  Null: with none of it.
  /// \return  Null where there is no such table.
  [[nodiscard]] virtual std::shared_ptr<const SampleMaker> with_side(std::shared_ptr<const Source> /*side*/) const {
    return nullptr;
  }
  /// Return the same with no more than `most_rows` rows of each sample: its first, or drawn anew in each epoch.
  /// \return  Null where samples have one length, or are shortened already.
  [[nodiscard]] virtual std::shared_ptr<const SampleMaker> shortened(std::uint64_t /*most_rows*/,
                                                                     bool /*drawn*/) const {
    return nullptr;
  }
  /// Return the row that a sample has in the table beside the rows, by its number in the map's shuffle blocks.
  [[nodiscard]] virtual std::uint64_t side_row(std::uint64_t stored) const { return stored; }
  /// Return the number of a sample among all, chosen or not, by its number in the map's shuffle blocks.
  [[nodiscard]] virtual std::uint64_t sample_number(std::uint64_t stored) const { return stored; }
  /// \param chosen  Which of the samples; null: all. Throws headrace::Error where nothing can be made.
  [[nodiscard]] virtual std::shared_ptr<MappedSource> make(std::shared_ptr<const Source> rows,
                                                           std::shared_ptr<const RowSet> chosen) const = 0;
};

/// Immutable once made.
struct MappedSource {
  std::shared_ptr<const std::vector<Field>> fields;  ///< Those of the groups, one after the other.
  std::shared_ptr<const SampleMap> map;
  std::shared_ptr<const BoxMap> boxes;  ///< The map, where its groups are grids of cells; else null.
  std::vector<SourceGroup> groups;
  std::string identity;  ///< Identity of the map: equal text, equal samples of equal files.
  SampleSizes sizes;
  std::uint64_t stored_sample_bytes = 0;               ///< A sample's bytes as they are stored, on average.
  std::shared_ptr<const Finisher> finisher = nullptr;  ///< What is done with batches in the end; null: nothing.
  std::string what = "mapped samples";                 ///< What the samples are, in messages: "windows".
  std::vector<std::string> notices = {};               ///< What should be known of them, a sentence each.
  /// Samples, chosen or not, that begin before the end of each file of group 0. Empty: they follow no files.
  std::vector<std::uint64_t> file_ends = {};
  std::shared_ptr<const SampleMaker> maker = nullptr;  ///< Null: they cannot be made again.
  /// Null: one data set. Files of its parts are stretches of the map's shuffle blocks.
  std::shared_ptr<const SourceMixture> mixture = nullptr;
  /// What `maker` made them of; null: the first group's source.
  std::shared_ptr<const Source> rows = nullptr;
  /// Transforms of the samples, which say where the columns of all groups go; null: each to its field.
  std::shared_ptr<const Program> program = nullptr;
  /// True if batches say which elements lie in the volume: "raw.valid" beside "raw".
  bool delivers_valid = false;
  /// Return what `maker` made them of.
  [[nodiscard]] const std::shared_ptr<const Source>& made_of() const { return rows ? rows : groups[0].source; }
};

/// Make the source of a data set of mapped samples: its fields are those of the groups, one after the other, ragged
/// where the map says so. Goes through the lengths of all samples once. \param identity  What the map was made from.
/// Errors: kUnsupported for groups of which rows were selected.
Result<std::shared_ptr<MappedSource>> make_mapped_source(std::shared_ptr<const SampleMap> map,
                                                         std::shared_ptr<const BoxMap> boxes,
                                                         std::vector<SourceGroup> groups, std::string identity);

/// Return the most bytes of `samples` samples that follow each other in the shuffle blocks: a batch in file order. Goes
/// through the lengths of all samples once.
[[nodiscard]] std::uint64_t largest_run_bytes(const MappedSource& mapped, std::uint64_t samples);

/// Return the bytes that samples, of these numbers, take in a slot.
[[nodiscard]] std::uint64_t bytes_of(const MappedSource& mapped, std::span<const std::uint64_t> samples);

/// Return true if cells of an array have anything to decode, without which they are not kept.
[[nodiscard]] inline bool cells_are_decoded(const CellGrid& grid, const ArrayReader& array) {
  return grid.cells != CellGrid::Cells::kPlain && is_decoded(array.info());
}

/// Let the samples go through a program, whose columns are those of all groups. Goes through the lengths of all samples
/// once.
void set_program(MappedSource& mapped, std::shared_ptr<const Program> program);

}  // namespace headrace
