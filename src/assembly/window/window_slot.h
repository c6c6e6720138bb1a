// A batch on its way, and what decode threads get to do for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "assembly/window/request_list.h"
#include "assembly/window/wanted.h"
#include "base/result.h"
#include "catalog/row_digest.h"
#include "catalog/samples/sample_map.h"
#include "order/steps/step_plan.h"

namespace headrace {

/// Sizes of the fields of one batch, known before a byte is read.
struct StepSizes {
  std::uint64_t samples = 0;
  std::vector<std::uint64_t> group_rows;  ///< Rows of each group of a SampleMap; empty without a map.
};

/// Memory of one batch: where each field's rows start. The delivery layer owns what is behind it.
struct SlotMemory {
  virtual ~SlotMemory() = default;
  std::vector<std::byte*> fields;
};

/// Gives memory to slots as they enter the window.
class SlotAllocator {
 public:
  virtual ~SlotAllocator() = default;
  /// Return true if another slot may enter: asked before it is planned. `starving`: the consumer waits and the window
  /// is empty.
  virtual bool room(bool starving) const = 0;
  /// Return memory for a batch; null where there is no room for one of this size now, which `starving` never gets.
  virtual Result<std::unique_ptr<SlotMemory>> acquire(const StepSizes& sizes, bool starving) = 0;
};

/// What a batch holds, planned before it enters the window.
struct StepContent {
  Step step;
  bool counted = true;                       ///< Whether the planner's count of a block knows of these samples.
  std::vector<SampleRef> samples;            ///< Stored rows of blocks; samples of shuffle blocks where there is a map.
  std::vector<BlockRows> counted_elsewhere;  ///< Samples of the same blocks that go elsewhere, as far as they count.
  std::uint64_t expected = 0;                ///< What the rows add up to in their places.
  StepSizes sizes;
  // Where there is a map:
  RowSums sums;  ///< Sums of the samples' numbers among all, chosen or not, where they have numbers.
  std::vector<Part> parts;
  std::vector<std::uint32_t> part_ends;            ///< Parts up to the end of each sample.
  std::vector<std::vector<std::uint64_t>> starts;  ///< For each group: rows before each sample, and all of them.
  /// For each group whose samples are filled up to the longest: the rows that each has of its own; else empty.
  std::vector<std::vector<std::uint64_t>> lengths;
  /// Return the rows that every sample is filled up to.
  [[nodiscard]] std::uint64_t width(std::size_t group) const {
    return samples.empty() ? 0 : starts[group].back() / samples.size();
  }
};

/// What is left to do with a batch once everything is in place.
struct Finishing {
  std::uint32_t samples_per_task = 0;  ///< Samples that are finished by one task, beside others; 0: none are.
  bool batch = false;                  ///< Then one task for the batch as a whole.
  [[nodiscard]] std::uint32_t sample_tasks(std::uint32_t rows) const {
    return samples_per_task == 0 ? 0 : rows / samples_per_task + (rows % samples_per_task != 0);
  }
  /// Return how many tasks a batch has; one without samples has none.
  [[nodiscard]] std::uint32_t tasks(std::uint32_t rows) const {
    return rows == 0 ? 0 : sample_tasks(rows) + (batch ? 1 : 0);
  }
};

/// A batch on its way: filling, then finishing if something is left to do with it as a whole, then ready.
struct WindowSlot {
  std::uint64_t sequence = 0;
  std::uint64_t epoch = 0;
  std::uint64_t batch = 0;
  std::uint32_t rows = 0;
  StepContent content;
  std::atomic<std::uint32_t> missing{0};  ///< Requests not yet in place.
  std::unique_ptr<SlotMemory> memory;
  // Guarded by the window's mutex:
  std::optional<Error> error;  ///< Error of the first position that failed, once nothing of it is missing.
  std::uint32_t error_position = 0;
  RowDigest digest;               ///< Digest of what was put in place.
  bool finish_entered = false;    ///< Everything is in place, and finishing may begin.
  std::uint32_t finish_next = 0;  ///< First finishing task that no thread has claimed.
  std::uint32_t finish_left = 0;  ///< Finishing tasks that are not done.
};

/// Return the number of place 0 of a batch's samples in a group of a map, for the digest: batches are far apart.
inline std::uint64_t first_place_of(const Step& step) {
  return step.first_position << 24;
}

/// Consecutive requests of one claim that go to one slot.
struct SlotRun {
  WindowSlot* slot;
  std::uint32_t begin, end;
};

/// Something for a decode thread to do.
struct Claim {
  enum class Kind : std::uint8_t {
    kUnit,    ///< Decode a block, or a unit of a map, and serve `requests` from it.
    kBatch,   ///< Gather a whole batch: its samples, or all of their parts, one run, no requests.
    kFinish,  ///< Do finishing task `unit` of the slot of the only run.
    kSpare,   ///< No consumer waits: do what later epochs will want. No runs, no requests.
  };
  Kind kind = Kind::kUnit;
  std::uint32_t unit = 0;
  std::uint64_t epoch = 0;
  bool first = false;     ///< First claim of this unit in this epoch; later ones are read amplification.
  bool last = false;      ///< No request of this unit will come in this epoch any more.
  bool starting = false;  ///< The consumer waits for its very first batch.
  bool ahead = false;     ///< The consumer has batches enough: it does not wait for this claim.
  std::vector<Request> requests;
  RequestList filed;  ///< The window's own: what `requests` are written from.
  std::vector<SlotRun> runs;
  std::uint64_t started_ns = 0;  ///< When it was handed out; 0 where it is not asked for.
  std::uint64_t waited_ns = 0;   ///< For work, before this claim; planning a batch is work.
};

/// Rows of a claim that could not be served.
struct RowFailure {
  RowRange rows;  ///< By Request::item; of a whole batch its parts or samples, of a finishing task positions.
  Error error;
  const WindowSlot* slot = nullptr;  ///< Whose requests are meant, where each slot numbers its own; null: all of them.
};

}  // namespace headrace
