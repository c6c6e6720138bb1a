// Program: all transforms of a data set, compiled. It says which columns are needed, where each of them goes, and what
// is done with it on the way or once it is there.
#pragma once

#include <headrace/transform.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/stored_column.h"
#include "transform/row_program.h"

namespace headrace {

/// Immutable. A slot of such a data set has arrays: first the fields of the batch, then what is staged.
class Program {
 public:
  /// Where a column's rows go.
  struct Target {
    std::size_t array = 0;            ///< Array of the slot: rows are copied there as stored; or, of a program,
                                      ///< its lead array.
    const RowProgram* row = nullptr;  ///< What makes a row into rows of the slot's arrays while it is copied.
  };
  /// A program for samples whose columns are in the slot.
  struct Staged {
    std::shared_ptr<const RowProgram> program;
    std::vector<std::size_t> arrays;  ///< Arrays of the slot: where each of its columns lies.
    std::vector<std::uint64_t> row_bytes;
    bool is_ragged = false;  ///< It is run with all rows of a sample at once, and with none where it has none.
  };
  /// A transform of the batch as a whole.
  struct Mixed {
    std::string text;
    std::shared_ptr<const BatchKernel> kernel;
    std::vector<std::size_t> arrays;
  };

  /// A stored column.
  struct Column {
    StoredColumn stored;
    bool is_cut = false;     ///< Its rows may come in several pieces: then it is staged.
    bool is_ragged = false;  ///< A sample has any number of its rows. Only transforms that take rows work on it.
  };

  /// Compile transforms of `columns`. Columns that no field needs are left out. A transform of ragged columns gets each
  /// row as a sample of its own.
  /// Errors: kInvalidArgument, with the transform's name; kUnsupported  one of whole samples, of ragged columns.
  static Result<std::shared_ptr<const Program>> make(std::vector<Column> columns, std::vector<Transform> transforms);

  /// Return what it was compiled of.
  [[nodiscard]] const std::vector<Column>& columns() const { return columns_; }
  [[nodiscard]] const std::vector<Transform>& transforms() const { return transforms_; }
  /// Return the fields of a batch.
  [[nodiscard]] const std::vector<Field>& fields() const { return fields_; }
  /// Return what a slot has beside them.
  [[nodiscard]] const std::vector<Field>& staged_fields() const { return staged_fields_; }
  /// Return which of columns() are needed: those that a data set has.
  [[nodiscard]] const std::vector<std::size_t>& needed() const { return needed_; }
  /// Return where the needed column `i` goes.
  [[nodiscard]] const Target& target(std::size_t i) const { return targets_[i]; }
  /// Return the needed column that field `f` comes from; none if it was made of others.
  [[nodiscard]] std::optional<std::size_t> origin(std::size_t f) const { return origins_[f]; }
  [[nodiscard]] const std::vector<Staged>& staged() const { return staged_; }
  [[nodiscard]] const std::vector<Mixed>& mixed() const { return mixed_; }
  /// Return the transforms as text: a state is not resumed with other ones.
  [[nodiscard]] std::string identity() const;
  /// Return the bytes that a thread takes for what lies between two transforms.
  [[nodiscard]] std::size_t scratch_bytes() const { return scratch_bytes_; }

 private:
  friend class ProgramCompiler;
  std::vector<Column> columns_;
  std::vector<Transform> transforms_;
  std::vector<Field> fields_, staged_fields_;
  std::vector<std::size_t> needed_;
  std::vector<Target> targets_;
  std::vector<std::optional<std::size_t>> origins_;
  std::vector<std::shared_ptr<const RowProgram>> fused_;
  std::vector<Staged> staged_;
  std::vector<Mixed> mixed_;
  std::size_t scratch_bytes_ = 0;
};

}  // namespace headrace
