#include "delivery/slot_pool.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace headrace {
namespace {

constexpr std::uint64_t kAlign = 64;
constexpr std::uint64_t align_up(std::uint64_t n) {
  return (n + kAlign - 1) / kAlign * kAlign;
}

std::shared_ptr<void> aligned_copy(const std::byte* from, std::size_t bytes) {
  std::shared_ptr<void> copy = SlotPool::column(bytes);
  std::memcpy(copy.get(), from, bytes);
  return copy;
}

}  // namespace

std::shared_ptr<void> SlotPool::column(std::size_t bytes) {
  return {::operator new (std::max<std::size_t>(bytes, 1), std::align_val_t{kAlign}),
          [](void* p) { ::operator delete (p, std::align_val_t{kAlign}); }};
}

/// Buffers of one batch in the window. Dropped unfilled, they go back to the pool.
struct SlotPool::PoolSlot final : SlotMemory {
  std::shared_ptr<SlotPool> pool;
  std::vector<PageBuffer> buffers;  // one for each of pool->pools_
  bool delivered = false;
  ~PoolSlot() override {
    for (std::size_t f = 0; f < buffers.size(); ++f)
      if (buffers[f].data()) pool->give_back(f, std::move(buffers[f]), false);
    if (!delivered) pool->drop_slot();
  }
};

/// What keeps a delivered field alive. Pure C++: may end on any thread, with or without an interpreter.
struct SlotPool::FieldLease {
  std::shared_ptr<SlotPool> pool;
  std::size_t field;
  PageBuffer buffer;
  FieldLease(std::shared_ptr<SlotPool> p, std::size_t f, PageBuffer b)
      : pool(std::move(p)), field(f), buffer(std::move(b)) {}
  ~FieldLease() { pool->give_back(field, std::move(buffer), true); }
  FieldLease(const FieldLease&) = delete;
  FieldLease& operator=(const FieldLease&) = delete;
};

SlotPool::SlotPool(std::shared_ptr<const std::vector<Field>> fields,
                   std::shared_ptr<const std::vector<Field>> batch_fields, std::uint64_t batch_rows,
                   std::uint64_t slots)
    : fields_(std::move(fields)),
      batch_fields_(std::move(batch_fields)),
      slots_(std::max<std::uint64_t>(slots, 1)),
      owner_pid_(::getpid()) {
  std::uint64_t small_bytes = 0;
  for (const Field& field : *fields_) {
    const std::uint64_t bytes = batch_rows * field.row_bytes();
    FieldPool& pool = pools_.emplace_back();
    if (bytes >= kSmallFieldBytes)
      pool.buffer_bytes = bytes;
    else {
      pool.small_offset = small_bytes;
      small_bytes += align_up(std::max<std::uint64_t>(bytes, 1));
    }
  }
  pools_.emplace_back().buffer_bytes = small_bytes;
}

std::uint64_t SlotPool::slot_bytes(const std::vector<Field>& fields, std::uint64_t batch_rows) {
  std::uint64_t total = 0, small_bytes = 0;
  for (const Field& field : fields) {
    const std::uint64_t bytes = batch_rows * field.row_bytes();
    if (bytes >= kSmallFieldBytes)
      total += PageBuffer::charge_for(bytes);
    else
      small_bytes += align_up(std::max<std::uint64_t>(bytes, 1));
  }
  return total + PageBuffer::charge_for(small_bytes);
}

std::uint64_t SlotPool::most_held() const {
  std::uint64_t most = 0;
  for (const FieldPool& p : pools_) most = std::max(most, p.held);
  return most;
}

std::uint64_t SlotPool::held_over() const {
  std::uint64_t bytes = 0;
  for (const FieldPool& p : pools_)
    if (p.held > kHeldSlots) bytes += (p.held - kHeldSlots) * PageBuffer::charge_for(p.buffer_bytes);
  return bytes;
}

bool SlotPool::room(bool starving) const {
  const std::lock_guard lock(mutex_);
  return starving || acquired_ + std::min(most_held(), kHeldSlots) < slots_;
}

void SlotPool::add_bytes(std::uint64_t bytes) {
  usage_.allocated_bytes += bytes;
  usage_.peak_bytes = std::max(usage_.peak_bytes, usage_.allocated_bytes - held_over());
}

Result<std::unique_ptr<SlotMemory>> SlotPool::acquire(const StepSizes&, bool) {
  auto slot = std::make_unique<PoolSlot>();
  slot->pool = shared_from_this();
  slot->buffers.resize(pools_.size());
  {
    const std::lock_guard lock(mutex_);
    ++acquired_;
  }
  for (std::size_t f = 0; f < pools_.size(); ++f) {
    FieldPool& pool = pools_[f];
    if (pool.buffer_bytes == 0) continue;
    {
      const std::lock_guard lock(mutex_);
      ++pool.in_slots;
      if (!pool.free.empty()) {
        slot->buffers[f] = std::move(pool.free.back());
        pool.free.pop_back();
        continue;
      }
      add_bytes(PageBuffer::charge_for(pool.buffer_bytes));
    }
    Result<PageBuffer> fresh = PageBuffer::allocate(pool.buffer_bytes);
    if (!fresh.ok()) {
      const std::lock_guard lock(mutex_);
      --pool.in_slots;
      usage_.allocated_bytes -= PageBuffer::charge_for(pool.buffer_bytes);
      return std::move(fresh.error());
    }
    slot->buffers[f] = std::move(*fresh);
  }
  for (std::size_t f = 0; f < fields_->size(); ++f)
    slot->fields.push_back(pools_[f].buffer_bytes != 0 ? slot->buffers[f].data()
                                                       : slot->buffers.back().data() + pools_[f].small_offset);
  return std::unique_ptr<SlotMemory>(std::move(slot));
}

Batch SlotPool::deliver(std::unique_ptr<SlotMemory> memory, const StepContent&, std::uint64_t rows, std::uint64_t epoch,
                        std::uint64_t index, std::vector<std::shared_ptr<void>> derived) {
  auto& slot = static_cast<PoolSlot&>(*memory);
  Batch::Parts parts;
  parts.fields = batch_fields_;
  parts.rows = rows;
  parts.epoch = epoch;
  parts.index = index;
  parts.data.reserve(fields_->size());
  parts.holders.reserve(fields_->size());
  for (std::size_t f = 0; f < fields_->size(); ++f) {
    if (pools_[f].buffer_bytes == 0) {
      parts.holders.push_back(aligned_copy(slot.fields[f], rows * (*fields_)[f].row_bytes()));
      parts.data.push_back(static_cast<std::byte*>(parts.holders.back().get()));
      continue;
    }
    parts.data.push_back(slot.fields[f]);
    parts.holders.push_back(std::make_shared<FieldLease>(shared_from_this(), f, std::move(slot.buffers[f])));
  }
  for (std::shared_ptr<void>& column : derived) {
    parts.data.push_back(static_cast<std::byte*>(column.get()));
    parts.holders.push_back(std::move(column));
  }
  if (PageBuffer& small = slot.buffers.back(); small.data()) give_back(pools_.size() - 1, std::move(small), false);
  {
    // At once from the window's to the consumer's: at no moment does the slot look free.
    const std::lock_guard lock(mutex_);
    --acquired_;
    slot.delivered = true;
    for (std::size_t f = 0; f < fields_->size(); ++f)
      if (pools_[f].buffer_bytes != 0) --pools_[f].in_slots, ++pools_[f].held;
    usage_.held_over_bytes = held_over();
    usage_.peak_held_over_bytes = std::max(usage_.peak_held_over_bytes, usage_.held_over_bytes);
  }
  tell_released();
  return Batch(std::move(parts));
}

void SlotPool::give_back(std::size_t field, PageBuffer buffer, bool held) {
  if (::getpid() != owner_pid_) return;  // a forked child owns a copy of the pages, not of the pool's threads and locks
  {
    const std::lock_guard lock(mutex_);
    FieldPool& pool = pools_[field];
    --(held ? pool.held : pool.in_slots);
    usage_.held_over_bytes = held_over();
    if (pool.free.size() + pool.in_slots + std::min(pool.held, kHeldSlots) < slots_)
      pool.free.push_back(std::move(buffer));
    else
      usage_.allocated_bytes -= buffer.charged_bytes();
  }
  if (held) tell_released();
}

void SlotPool::drop_slot() {
  const std::lock_guard lock(mutex_);
  --acquired_;
}

void SlotPool::tell_released() {
  const std::lock_guard lock(callback_mutex_);
  if (callback_) callback_();
}

/// With the lock.
void SlotPool::free_surplus() {
  for (FieldPool& pool : pools_)
    while (!pool.free.empty() && pool.free.size() + pool.in_slots + std::min(pool.held, kHeldSlots) > slots_) {
      usage_.allocated_bytes -= pool.free.back().charged_bytes();
      pool.free.pop_back();
    }
}

void SlotPool::limit_slots(std::uint64_t slots) {
  const std::lock_guard lock(mutex_);
  slots_ = std::min(slots_, slots);
  free_surplus();
}

void SlotPool::close() {
  limit_slots(0);
}

void SlotPool::set_release_callback(std::function<void()> callback) {
  const std::lock_guard lock(callback_mutex_);
  callback_ = std::move(callback);
}

SlotPool::Usage SlotPool::usage() const {
  const std::lock_guard lock(mutex_);
  Usage u = usage_;
  u.held_batches = most_held();
  return u;
}

}  // namespace headrace
