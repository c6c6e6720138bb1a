// Finisher: work on whole samples, or on a whole batch, once all of its bytes are in place.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "assembly/window/window_slot.h"
#include "base/result.h"
#include "catalog/block.h"
#include "catalog/epoch_seed.h"

namespace headrace {

/// What one finishing task writes, about: some tens of microseconds.
inline constexpr std::uint64_t kFinishingTaskBytes = 256 << 10;

/// A batch whose bytes are in place.
struct FilledBatch {
  std::span<std::byte* const> fields;  ///< Where row 0 of each array of the slot lies; its other rows follow.
  std::span<const SampleRef> samples;
  /// For each group of a SampleMap: rows before each sample, and all of them. Empty where samples are rows: then sample
  /// i is row i of each field.
  std::span<const std::vector<std::uint64_t>> starts;
  const BlockTable& blocks;  ///< Blocks of `samples`.
  std::uint64_t epoch = 0;
  std::uint64_t seed = 0;  ///< Seed of the loader; 0 where rows are read by number.
  /// For each group whose samples are filled up to the longest: the rows that each has of its own.
  std::span<const std::vector<std::uint64_t>> lengths = {};

  /// Return the number of a sample among all that the files hold, whatever was selected of them and wherever it comes
  /// in an epoch: what randomness is keyed by, together with the seed and `epoch`.
  [[nodiscard]] std::uint64_t sample_number(std::size_t position) const {
    const SampleRef sample = samples[position];
    // The stored row is told where samples are rows; of a map, which of the chosen samples.
    const bool of_chosen = !starts.empty() && blocks.is_chosen();
    return blocks.stored_rows(sample.block).first +
           (of_chosen ? blocks.stored_row(sample.block, sample.row) : sample.row);
  }
};

/// What is done with batches once everything is in place: on the decode threads of a loader, or inside take() or
/// batch(). Its result may depend on the batch, the epoch and its own settings, and on nothing else. Threads: any
/// number, for different samples at once.
class Finisher {
 public:
  virtual ~Finisher() = default;
  /// Return its name and settings: a state is not resumed with another text.
  [[nodiscard]] virtual std::string identity() const = 0;
  /// Return what there is to do: whether samples are finished, how many by one task, and whether the batch is. Always
  /// the same.
  [[nodiscard]] virtual Finishing finishing() const = 0;
  /// Finish one sample in place; writes to rows of that sample only. Errors: are raised at this batch.
  virtual Status finish_sample(const FilledBatch& batch, std::uint32_t position) const = 0;
  /// Finish the batch in place, after all of its samples; not called where one of them failed. Errors: are raised at
  /// this batch.
  virtual Status finish_batch(const FilledBatch& batch) const = 0;
};

/// Do one task of a batch: those of its samples are numbered first, then comes the batch's own. \return What failed
/// first, by position; what a kernel throws is kInternal.
std::optional<RowFailure> finish_task(const Finisher& finisher, const FilledBatch& batch, std::uint32_t task);
/// Do all tasks of a batch, one after the other. Errors: of the first that fails.
Status finish_all(const Finisher& finisher, const FilledBatch& batch);

}  // namespace headrace
