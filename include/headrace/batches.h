// How large batches are: so many samples, as many as a budget of rows holds, or whole groups.
#pragma once

#include <headrace/tail.h>

#include <cstdint>
#include <string>
#include <variant>

namespace headrace {

/// Batches of so many samples on each rank.
struct Samples {
  std::uint64_t size = 0;      ///< Samples in a batch, below 2^32.
  Tail tail = Tail::kPartial;  ///< What happens to samples that do not fill the last batch.
};

/// Steps of so many samples over all ranks.
struct GlobalSamples {
  std::uint64_t size = 0;      ///< Samples in a step; a multiple of the number of ranks.
  Tail tail = Tail::kPartial;  ///< What happens to samples that do not fill the last batch.
};

/// Batches of whole groups: recordings, events, documents. A group is a run of consecutive rows. Each batch has two
/// more fields: "_group", int64, the number of each sample's group (of the file; of the run of equal numbers or the
/// place along axes, counted from 0), and "_group.offsets", int64: where each group begins in the batch, and at the end
/// the number of samples. Over several ranks, rank r of W gets each W-th batch from the r-th on. BlockShuffle shuffles
/// the groups, each epoch anew; their rows stay in order. No other order goes with it.
struct Groups {
  /// "file": the rows of a file; a field with one whole number a row: rows with the same number; or the number of an
  /// axis of OpenOptions::sample_axes ("0"): the samples of one place along the axes up to it, of whole recordings.
  std::string by;
  /// Most samples of a batch, which gets as many whole groups as fit. A group of more samples is cut every so many.
  std::uint64_t max_items = 65536;
  std::uint64_t max_groups = 0;  ///< Most groups of a batch; 0: as many as fit.
};

/// Steps of as many samples as a budget of rows holds, where samples are ragged: events, documents. All ranks make
/// equally many. Dealt with a shuffle or a sampler that draws, so that every step holds all lengths; in order
/// otherwise. Orders that list rows or get them during the epoch do not go with it. The rows of a sample are those of
/// its ragged fields; a sample without rows costs nothing. With padding a step costs its samples times the longest of
/// them, and shuffled steps hold samples of like lengths (length buckets) instead of all lengths.
struct ByTokens {
  /// What happens to samples that are longer than the budget.
  enum TooLong : std::uint8_t {
    kError,  ///< The loader is not made; the error says how many there are, and which is the longest.
    kAlone,  ///< They come in steps of one sample a lane, which are above the budget.
  };
  std::uint64_t tokens = 0;       ///< Most rows that a lane holds of a step, below 2^31.
  std::uint64_t max_samples = 0;  ///< Most samples that a lane holds of a step; 0: no limit.
  TooLong too_long = kError;      ///< What happens to samples that are longer than the budget.
  /// The largest number of ranks that the steps are planned for. Each rank of so many has one lane of every step; of
  /// fewer, several: the same steps, on fewer ranks. 0: the number of ranks of the run, or of the state it goes on
  /// from.
  std::uint32_t lanes = 0;
  /// Steps that are planned together: the more, the more alike they are, and the more of the data is read at once.
  std::uint64_t lookahead = 64;
  Tail tail = Tail::kPartial;  ///< What happens to samples that do not fill the last step.
};

/// How large batches are; the first alternative: it is not said.
using BatchChoice = std::variant<std::monostate, Samples, GlobalSamples, ByTokens, Groups>;

/// Return what happens to samples that do not fill the last batch; kPartial for batches that have no such samples.
Tail tail_of(const BatchChoice& batch);

}  // namespace headrace
