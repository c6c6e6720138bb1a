// Kernel: what a transform does to one sample, its types known.
#pragma once

#include <headrace/field.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/random/philox.h"
#include "base/result.h"

namespace headrace {

class ElementKernel;

/// What randomness is keyed by: never a thread, a rank or a position in an epoch.
struct SampleKey {
  std::uint64_t seed = 0;    ///< Seed of the loader; 0 where rows are read by number.
  std::uint64_t epoch = 0;   ///< Number of the epoch.
  std::uint64_t sample = 0;  ///< Number of the sample among all that the files hold.
};

/// One sample for a kernel.
struct KernelCall {
  const SampleKey& key;
  std::span<const std::byte* const> in;  ///< Dense and aligned for their types; not where the outputs are.
  std::span<std::byte* const> out;
  bool is_last = false;  ///< Outputs go to a batch, and are not read soon: past the caches, if they are large.
  /// Rows that lie one behind the other, of a field that has several a sample. Above 1 only for kernels that say so.
  std::size_t rows = 1;
};

/// Immutable. Threads: any, for different samples at once.
class Kernel {
 public:
  virtual ~Kernel() = default;
  /// Make the outputs of one sample. Errors: kCorruptData for values that it cannot take, without the place.
  virtual Status run(const KernelCall& call) const = 0;
  /// Return itself if it works value by value, so that several can go over a sample together; else null.
  [[nodiscard]] virtual const ElementKernel* elements() const { return nullptr; }
  /// Return whether it does the same to every row, whichever sample has it: then it takes any number of them, and
  /// ragged fields.
  [[nodiscard]] virtual bool takes_rows() const { return false; }
};

/// Samples of a batch for a kernel that mixes them.
struct BatchKernelCall {
  std::uint64_t seed, epoch;
  std::span<const std::uint64_t> samples;  ///< Number of each sample.
  std::span<std::byte* const> fields;      ///< Row 0 of each field that the transform names, to be changed in place.
};
/// What a transform does to a batch as a whole, once all of its samples are there. Immutable. Threads: any.
class BatchKernel {
 public:
  virtual ~BatchKernel() = default;
  virtual Status run(const BatchKernelCall& call) const = 0;
};

/// A transform of fields of known types.
struct CompiledTransform {
  /// What it makes. One of the name of a field takes that field's place; others follow the fields there are.
  std::vector<Field> outputs = {};
  std::vector<std::string> dropped = {};          ///< Fields that a batch has no more.
  bool keeps_inputs = false;                      ///< The inputs are all that is left of the fields, in their order.
  std::shared_ptr<const Kernel> kernel = {};      ///< Null: the outputs are the inputs' bytes.
  std::shared_ptr<const BatchKernel> batch = {};  ///< Then there is no kernel, and no new type.
};

}  // namespace headrace
