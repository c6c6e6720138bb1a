// SlotArena: memory of batches of unequal sizes, in one stretch, by first fit.
//
// A batch of ragged fields has as many bytes as its samples are long. Its size is known from the plan, so that it gets
// exactly that; what it leaves when it is handed back joins its neighbours. An arena of at least kLeastBatches times
// the largest batch always has room for the oldest one: with two batches at the caller the free bytes lie in at most
// three holes, one of which is large enough.
#pragma once

#include <headrace/delivery/batch.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "assembly/window_slot.h"
#include "base/page_buffer.h"
#include "base/result.h"

namespace headrace {

/// A field of a slot: bytes a row, and whose rows.
struct SlotField {
  std::uint64_t row_bytes = 1;
  std::size_t group = 0;  ///< Of the SampleMap; StepSizes says how many rows it has.
};

/// Threads: any.
class SlotArena final : public SlotAllocator, public std::enable_shared_from_this<SlotArena> {
 public:
  static constexpr std::uint64_t kLeastBatches = 5;

  /// Errors: kOutOfBudget.
  static Result<std::shared_ptr<SlotArena>> make(std::vector<SlotField> fields, std::uint64_t arena_bytes);
  /// Return the bytes of a batch of these sizes.
  static std::uint64_t slot_bytes(const std::vector<SlotField>& fields, const StepSizes& sizes);

  bool room(bool starving) const override;
  /// Errors: kOutOfBudget: `starving`, and no memory outside the arena either.
  Result<std::unique_ptr<SlotMemory>> acquire(const StepSizes& sizes, bool starving) override;

  /// Called, on any thread, when memory came back. Empty to stop.
  void set_release_callback(std::function<void()> callback);

  struct Usage {
    std::uint64_t used_bytes = 0, peak_bytes = 0;
    std::uint64_t outside_bytes = 0, peak_outside_bytes = 0;  ///< Of batches that found no hole.
  };
  [[nodiscard]] Usage usage() const;

 private:
  struct ArenaSlot;
  SlotArena(std::vector<SlotField> fields, PageBuffer arena);
  void give_back(std::uint64_t offset, std::uint64_t bytes, bool outside);

  const std::vector<SlotField> fields_;
  PageBuffer arena_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> holes_;  // offset -> bytes, never touching each other
  Usage usage_;
  std::mutex callback_mutex_;
  std::function<void()> callback_;
};

}  // namespace headrace
