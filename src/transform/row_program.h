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

  RowProgram(std::vector<Value> values, std::vector<Step> steps, std::size_t scratch_bytes);

  /// Bytes that each thread keeps for what lies between two transforms.
  [[nodiscard]] std::size_t scratch_bytes() const { return scratch_bytes_; }
  /// Return the array of a slot whose rows tell from their addresses which sample went where: the first that is
  /// written.
  [[nodiscard]] std::size_t lead_array() const;

  /// Transform one sample. \param columns  Its row of each column, dense and aligned. \param arrays  Row 0 of each of
  /// the slot's arrays. \param position  Of the sample in the batch. Errors: of a kernel, with its name.
  Status run(const SampleKey& key, std::span<const std::byte* const> columns, std::byte* const* arrays,
             std::uint64_t position) const;

 private:
  const std::vector<Value> values_;
  const std::vector<Step> steps_;
  const std::size_t scratch_bytes_;
  std::size_t most_arguments_ = 0;  // of any step
};

}  // namespace headrace
