// SlotPool: memory of batches, from the window to the consumer and back.
//
// Every large field of a slot is a buffer of its own, so that a consumer that keeps batch["y"] does not keep 20 MB of
// batch["x"]; small fields are copied out on delivery, so that no slot waits for them. The budget covers the window and
// two batches with the consumer; what is held beyond those, copies too, is the consumer's: counted, never waited for.
#pragma once

#include <headrace/batch.h>

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/memory/page_buffer.h"
#include "delivery/batch_memory.h"

namespace headrace {

class SlotPool final : public BatchMemory, public std::enable_shared_from_this<SlotPool> {
 public:
  /// Batches with the consumer that the budget pays for: the one in use and the one just handed over.
  static constexpr std::uint64_t kHeldSlots = 2;
  /// Fields of fewer bytes a batch are copied out on delivery.
  static constexpr std::uint64_t kSmallFieldBytes = 64 << 10;

  /// \param slots  All slots of the budget: in the window and with the consumer; at least 1.
  /// \param fields  Of a slot. \param batch_fields  Of a batch: those of a slot, then derived columns. \param staged
  /// How many of the slot's last fields no batch has: what is made of them is delivered.
  SlotPool(std::shared_ptr<const std::vector<Field>> fields, std::shared_ptr<const std::vector<Field>> batch_fields,
           std::uint64_t batch_rows, std::uint64_t slots, std::size_t staged = 0);

  /// Return the bytes of one slot, as a budget must count them.
  static std::uint64_t slot_bytes(const std::vector<Field>& fields, std::uint64_t batch_rows);

  /// Return what a slot takes beside its bytes: objects and lists, which weigh more than a batch of a few small rows.
  static std::uint64_t bookkeeping_bytes(std::size_t fields);

  bool room(bool starving) const override;
  Result<std::unique_ptr<SlotMemory>> acquire(const StepSizes& sizes, bool starving) override;
  Batch deliver(std::unique_ptr<SlotMemory> memory, const StepContent& content, std::uint64_t rows, std::uint64_t epoch,
                std::uint64_t index, std::vector<DerivedColumn> derived) override;
  /// Return 64-byte aligned memory for a derived column.
  static std::shared_ptr<void> column(std::size_t bytes);

  void limit_slots(std::uint64_t slots) override;
  void close() override;
  void set_release_callback(std::function<void()> callback) override;
  [[nodiscard]] Usage usage() const override;

 private:
  struct PoolSlot;
  struct FieldLease;
  struct CopyLease;
  struct FieldPool {
    std::uint64_t buffer_bytes = 0;  // 0: a small field, or a derived one
    std::uint64_t small_offset = 0;  // of small fields in the slot's small buffer
    bool derived = false;            // no slot has it
    bool staged = false;             // no batch has it
    std::uint64_t held_bytes = 0;    // of one with the consumer
    std::vector<PageBuffer> free;
    std::uint64_t held = 0, in_slots = 0;
  };
  std::uint64_t most_held() const;
  std::uint64_t covered(const FieldPool& pool) const;
  void hold(FieldPool& pool);
  bool let_go(FieldPool& pool);
  PageBuffer put_back(FieldPool& pool, PageBuffer buffer);
  void add_bytes(std::uint64_t bytes);
  void free_surplus();
  void give_back(std::size_t field, PageBuffer buffer, bool held);
  void drop_copy(std::size_t field);
  void drop_slot();
  void tell_released();

  const std::shared_ptr<const std::vector<Field>> fields_, batch_fields_;
  const std::size_t num_delivered_;  // of fields_
  const std::uint64_t most_slots_;   // that there ever are
  std::uint64_t slots_;              // at most; 0 once closed
  const int owner_pid_;
  mutable std::mutex mutex_;
  std::uint64_t acquired_ = 0;    // slots that are neither delivered nor dropped
  std::vector<FieldPool> pools_;  // of a slot's or a batch's field; then of all small fields together
  std::array<std::uint64_t, kHeldSlots> pools_holding_{};  // how many hold 1, 2 … or more
  Usage usage_;
  std::mutex callback_mutex_;
  std::function<void()> callback_;
};

}  // namespace headrace
