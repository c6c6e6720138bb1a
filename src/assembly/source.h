// Source: the files and arrays behind a data set's fields.
#pragma once

#include <headrace/attribute.h>
#include <headrace/left_out.h>

#include "catalog/stored_column.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "catalog/row_set.h"
#include "catalog/samples/voxel_scale.h"
#include "format/format_reader.h"
#include "transform/program.h"

namespace headrace {

/// A file beside one of the data set's own, with as many rows: some of the arrays lie in it.
struct CompanionFile {
  std::string path;
  FileFingerprint fingerprint;
  std::vector<std::uint32_t> arrays;  ///< Their numbers among those of the SourceFile.
};

struct SourceFile {
  std::string path;
  std::uint64_t rows = 0;
  FileFingerprint fingerprint;                       ///< Version of the file that was opened; zeros for data in memory.
  std::vector<std::shared_ptr<ArrayReader>> arrays;  ///< One for each array of the source.
  std::vector<CompanionFile> companion_files = {};   ///< What `arrays` come from besides the file itself.
  /// Extents of the axes that samples are cells of, whose product is `rows`; empty: one axis.
  std::vector<std::uint64_t> axes = {};
  /// Volumes: the extents that all arrays have in common, and where these begin in each array; empty: at its beginning.
  std::vector<std::uint64_t> extents = {};
  std::vector<std::vector<std::uint64_t>> offsets = {};
  /// Volumes: how each array of other voxels than the first lies over the volume; empty: all have those of the first.
  std::vector<std::optional<VoxelScale>> scales = {};
};

/// Return the files that rows of `file` come from besides itself and those beside it, each once: external raw files,
/// sources of virtual data sets.
std::vector<OutsideFile> other_files(const SourceFile& file);

struct Source;
/// Return true if there is anything to decode in any array of the source.
bool is_decoded(const Source& source);

/// Data sets whose files are one source's, and how often each is to be drawn.
struct SourceMixture {
  struct MixedFiles {
    std::string name;
    std::size_t first_file, num_files;
    double weight;
  };
  std::vector<MixedFiles> parts;
  std::uint64_t num_samples = 0;  ///< An epoch.
};

class Finisher;

/// What was found in the files of a data set, beside their arrays.
struct FileNotes {
  Attributes attributes;             ///< The files' own, as a whole, where they agree.
  std::vector<std::string> notices;  ///< What their reader should know, a sentence each.
};

/// Rows of files. Immutable once made. Arrays are numbered alike in every file; several columns may be members of one
/// array's records.
struct Source {
  struct ColumnPlace {
    std::uint32_t array;
    std::uint32_t column;
  };
  std::shared_ptr<const std::vector<StoredColumn>> columns;  ///< What is stored of a row.
  std::shared_ptr<const std::vector<Field>> fields;          ///< What a batch has of it.
  std::vector<ColumnPlace> places;                           ///< One for each column.
  std::vector<SourceFile> files;
  std::shared_ptr<const RowSet> chosen;          ///< Rows of all files that belong to the data set; null: all.
  std::vector<LeftOut> left_out;                 ///< In the files, where the fields were not chosen.
  std::shared_ptr<const FileNotes> notes;        ///< Null: none.
  std::shared_ptr<const SourceMixture> mixture;  ///< Null: one data set.
  /// Transforms of the columns on their way into a batch; null: none. Caches hold what is stored.
  std::shared_ptr<const Program> program;
  /// What is done with batches once everything is in place (finisher.h); null: nothing.
  std::shared_ptr<const Finisher> finisher;

  /// Set the columns, and the fields that deliver them as they are stored.
  void set_columns(std::vector<StoredColumn> stored) {
    fields = std::make_shared<const std::vector<Field>>(fields_of(stored));
    columns = std::make_shared<const std::vector<StoredColumn>>(std::move(stored));
  }
  /// Return the arrays that a slot has: the fields, and behind them what transforms keep there until it is full.
  [[nodiscard]] std::vector<Field> slot_fields() const;
  [[nodiscard]] std::size_t num_staged() const { return program ? program->staged_fields().size() : 0; }
  /// Return the bytes that a sample takes in a slot.
  [[nodiscard]] std::uint64_t slot_row_bytes() const;
  [[nodiscard]] std::size_t num_arrays() const { return files.empty() ? 0 : files[0].arrays.size(); }
  /// Return the stored bytes of a row.
  [[nodiscard]] std::uint64_t row_bytes() const {
    std::uint64_t n = 0;
    for (const StoredColumn& c : *columns) n += c.row_bytes();
    return n;
  }
};

/// Return the source before anything is done with its rows: fields are what is stored.
std::shared_ptr<const Source> as_stored(std::shared_ptr<const Source> source);

}  // namespace headrace
