// RowProgram: the transforms of columns that depend on each other, for one sample after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "transform/kernel.h"

namespace headrace {

/// Immutable. Threads: any, for different samples at once.
class RowProgram {
 public:
  /// A value on the way from the columns to the batch.
  struct Value {
    enum class Where : std::uint8_t { kColumn, kArray, kScratch };
    Where where = Where::kColumn;
    std::size_t index = 0;  ///< Index among the program's columns or a slot's arrays, or the offset in the scratch.
    std::uint64_t bytes = 0;
  };
  /// One transform; without a kernel the bytes of `in` become those of `out`.
  struct Step {
    std::string text;
    std::shared_ptr<const Kernel> kernel;
    std::vector<std::size_t> in, out;  ///< Values.
  };

  /// \param scratch_bytes  Of one row. \param takes_rows  All kernels take any number of rows.
  RowProgram(std::vector<Value> values, std::vector<Step> steps, std::size_t scratch_bytes, bool takes_rows = false);

  /// Return the bytes that each thread keeps for what lies between two transforms.
  [[nodiscard]] std::size_t scratch_bytes() const { return scratch_bytes_ * tile_rows_; }
  /// Return whether it takes any number of rows that lie one behind the other: those of ragged fields.
  [[nodiscard]] bool takes_rows() const { return takes_rows_; }
  /// Return the array of a slot whose rows tell from their addresses which sample went where: the first that is
  /// written.
  [[nodiscard]] std::size_t lead_array() const;

  /// Transform one sample, or some rows of one. \param columns  Its row of each column, dense and aligned. \param
  /// arrays  Row 0 of each of the slot's arrays. \param position  Row of these arrays that the first is for. \param
  /// rows How many lie one behind the other; other than 1 only where it takes_rows(). Errors: of a kernel, with its
  /// name.
  Status run(const SampleKey& key, std::span<const std::byte* const> columns, std::byte* const* arrays,
             std::uint64_t position, std::uint64_t rows = 1) const;

 private:
  Status run_tile(const SampleKey& key, std::span<const std::byte* const> columns, std::uint64_t first_row,
                  std::byte* const* arrays, std::uint64_t position, std::uint64_t rows) const;

  const std::vector<Value> values_;
  const std::vector<Step> steps_;
  const std::size_t scratch_bytes_;  // of a row
  const bool takes_rows_;
  std::size_t tile_rows_ = 1;       // that go through all steps before the next ones do
  std::size_t most_arguments_ = 0;  // of any step
};

/// Return the error of a program that takes rows, with the number of the sample whose rows they were.
Error at_sample(const Error& error, std::uint64_t sample);

}  // namespace headrace
