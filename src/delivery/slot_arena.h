// SlotArena: memory of batches of unequal sizes, in one stretch, by first fit.
//
// A batch of ragged fields has as many bytes as its samples are long. Its size is known from the plan, so that it gets
// exactly that; what it leaves when it is handed back joins its neighbours. Where no hole is large enough for the
// oldest batch, it lies outside, and the pages of all holes go back to the system for it: what is held stays what it
// was. Only where the caller keeps batches it may be more.
#pragma once

#include <headrace/batch.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "assembly/mapped_source.h"
#include "base/memory/page_buffer.h"
#include "base/result.h"
#include "delivery/batch_memory.h"

namespace headrace {

/// An array of a slot: bytes a row, and whose rows.
struct SlotField {
  std::uint64_t row_bytes = 1;
  std::size_t group = 0;    ///< Group of the SampleMap; StepSizes says how many rows it has.
  bool ragged = false;      ///< Delivered with where each sample's rows begin.
  bool of_samples = false;  ///< A row is a whole sample's, made of the group's rows.
  bool staged = false;      ///< What transforms are made from: not delivered. Such arrays come last.
  [[nodiscard]] std::uint64_t bytes(const StepSizes& sizes) const {
    return (of_samples ? sizes.samples : sizes.group_rows[group]) * row_bytes;
  }
};

/// Return the arrays of a slot of mapped samples.
std::vector<SlotField> slot_fields(const MappedSource& mapped);

/// Threads: any.
class SlotArena final : public BatchMemory, public std::enable_shared_from_this<SlotArena> {
 public:
  /// Make an arena, which takes its memory with the first batch. \param slots  Of `slot_bytes` on average. \param
  /// batch_fields  Of a batch: those of a slot, then derived columns. Null: nothing is delivered.
  SlotArena(std::vector<SlotField> fields, std::uint64_t slots, std::uint64_t slot_bytes,
            std::shared_ptr<const std::vector<Field>> batch_fields = nullptr);
  /// Return the bytes of a batch of these sizes.
  static std::uint64_t slot_bytes(const std::vector<SlotField>& fields, const StepSizes& sizes);

  bool room(bool starving) const override;
  /// Errors: kOutOfBudget: `starving`, and no memory outside the arena either.
  Result<std::unique_ptr<SlotMemory>> acquire(const StepSizes& sizes, bool starving) override;

  /// Hand over a batch whose fields lie in one stretch, which comes back with the last of them.
  Batch deliver(std::unique_ptr<SlotMemory> memory, const StepContent& content, std::uint64_t rows, std::uint64_t epoch,
                std::uint64_t index, std::vector<DerivedColumn> derived) override;
  void set_release_callback(std::function<void()> callback) override;
  /// Give what is free to the system while there are fewer slots than at first, wherever it lies.
  void limit_slots(std::uint64_t slots) override;
  void close() override;
  [[nodiscard]] Usage usage() const override;

  struct ArenaUsage {
    std::uint64_t used_bytes = 0, peak_bytes = 0;
    std::uint64_t outside_bytes = 0;                        ///< Bytes of batches that found no hole.
    std::uint64_t beyond_bytes = 0, peak_beyond_bytes = 0;  ///< What all batches take beyond the limit.
  };
  [[nodiscard]] ArenaUsage arena_usage() const;

 private:
  struct ArenaSlot;
  using Holes = std::map<std::uint64_t, std::uint64_t>;
  /// \param hole  A node for the hole that it leaves; not used for what lay outside.
  void give_back(std::uint64_t offset, std::uint64_t bytes, bool outside, Holes::node_type hole);
  void tell_released();
  void discard(std::uint64_t offset, std::uint64_t bytes);
  void discard_holes();
  void count(std::int64_t used, std::int64_t outside);

  const std::vector<SlotField> fields_;
  const std::size_t num_delivered_;  // of the fields
  const std::shared_ptr<const std::vector<Field>> batch_fields_;
  const int owner_pid_;
  const std::uint64_t slot_bytes_, arena_bytes_;
  PageBuffer arena_;
  mutable std::mutex mutex_;
  std::uint64_t limit_bytes_;  // of batches, without those outside; 0 once closed
  Holes holes_;                // offset -> bytes, never touching each other
  ArenaUsage usage_;
  std::mutex callback_mutex_;
  std::function<void()> callback_;
};

}  // namespace headrace
