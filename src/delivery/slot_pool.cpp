#include "delivery/slot_pool.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/memory/align.h"

namespace headrace {
namespace {

std::shared_ptr<void> aligned_copy(const std::byte* from, std::size_t bytes) {
  std::shared_ptr<void> copy = SlotPool::column(bytes);
  std::memcpy(copy.get(), from, bytes);
  return copy;
}

}  // namespace

std::shared_ptr<void> SlotPool::column(std::size_t bytes) {
  return {::operator new (std::max<std::size_t>(bytes, 1), std::align_val_t{kCacheLineBytes}),
          [](void* p) { ::operator delete (p, std::align_val_t{kCacheLineBytes}); }};
}

/// Buffers of one batch in the window. Dropped unfilled, they go back to the pool.
struct SlotPool::PoolSlot final : SlotMemory {
  std::shared_ptr<SlotPool> pool;
  std::vector<PageBuffer> buffers;  // one for each of pool->pools_
  bool counted = false;             // as acquired, and not delivered yet
  ~PoolSlot() override {
    for (std::size_t f = 0; f < buffers.size(); ++f)
      if (buffers[f].data()) pool->give_back(f, std::move(buffers[f]), false);
    if (counted) pool->drop_slot();
  }
};

/// What keeps a delivered field alive. Pure C++: may end on any thread, with or without an interpreter.
struct SlotPool::FieldLease {
  std::shared_ptr<SlotPool> pool;
  std::size_t field;
  PageBuffer buffer;  // none yet, while the batch is being made
  FieldLease(std::shared_ptr<SlotPool> p, std::size_t f) : pool(std::move(p)), field(f) {}
  ~FieldLease() {
    if (buffer.data()) pool->give_back(field, std::move(buffer), true);
  }
  FieldLease(const FieldLease&) = delete;
  FieldLease& operator=(const FieldLease&) = delete;
};

/// The same for a field that was copied out, or derived.
struct SlotPool::CopyLease {
  std::shared_ptr<SlotPool> pool;
  std::size_t field;
  std::shared_ptr<void> copy;
  bool held = false;  // not while the batch is being made
  CopyLease(std::shared_ptr<SlotPool> p, std::size_t f, std::shared_ptr<void> c)
      : pool(std::move(p)), field(f), copy(std::move(c)) {}
  ~CopyLease() {
    copy.reset();
    if (held) pool->drop_copy(field);
  }
  CopyLease(const CopyLease&) = delete;
  CopyLease& operator=(const CopyLease&) = delete;
};

SlotPool::SlotPool(std::shared_ptr<const std::vector<Field>> fields,
                   std::shared_ptr<const std::vector<Field>> batch_fields, std::uint64_t batch_rows,
                   std::uint64_t slots, std::size_t staged)
    : fields_(std::move(fields)),
      batch_fields_(std::move(batch_fields)),
      num_delivered_(fields_->size() - staged),
      most_slots_(std::max<std::uint64_t>(slots, 1)),
      slots_(most_slots_),
      owner_pid_(::getpid()) {
  std::uint64_t small_bytes = 0;
  for (const Field& field : *fields_) {
    const std::uint64_t bytes = batch_rows * field.row_bytes();
    FieldPool& pool = pools_.emplace_back();
    pool.staged = pools_.size() > num_delivered_;
    pool.held_bytes =
        bytes >= kSmallFieldBytes ? PageBuffer::charge_for(bytes) : align_up(std::max<std::uint64_t>(bytes, 1));
    if (bytes >= kSmallFieldBytes)
      pool.buffer_bytes = bytes;
    else {
      pool.small_offset = small_bytes;
      small_bytes += pool.held_bytes;
    }
  }
  for (std::size_t f = num_delivered_; f < batch_fields_->size(); ++f) {
    FieldPool& pool = pools_.emplace_back();
    pool.derived = true;
    pool.held_bytes = align_up(std::max<std::uint64_t>(batch_rows * (*batch_fields_)[f].row_bytes(), 1));
  }
  pools_.emplace_back().buffer_bytes = small_bytes;
  for (FieldPool& pool : pools_) pool.free.reserve(slots_);  // giving back takes no memory
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

std::uint64_t SlotPool::bookkeeping_bytes(std::size_t fields) {
  constexpr std::uint64_t kHeap = 16;  // of an allocation, for the allocator
  const std::uint64_t pools = fields + 1;
  return sizeof(PoolSlot) + kHeap + fields * sizeof(std::byte*) + kHeap + 2 * pools * sizeof(PageBuffer) + kHeap;
}

std::uint64_t SlotPool::most_held() const {
  std::uint64_t most = 0;
  for (const FieldPool& p : pools_) most = std::max(most, p.held);
  return most;
}

/// Return how many buffers of the pool the slots of the budget stand for by now.
std::uint64_t SlotPool::covered(const FieldPool& pool) const {
  std::uint64_t held = pool.held;
  if (&pool == &pools_.back())  // copies of its fields take the place of its buffers
    for (const FieldPool& p : pools_)
      if (p.buffer_bytes == 0 && !p.derived) held = std::max(held, p.held);
  return pool.free.size() + pool.in_slots + std::min(held, kHeldSlots);
}

/// A field is the consumer's from now on; its bytes are counted already, where a slot pays for them.
void SlotPool::hold(FieldPool& pool) {
  if (++pool.held <= kHeldSlots) {
    ++pools_holding_[pool.held - 1];
    return;
  }
  usage_.held_over_bytes += pool.held_bytes;
  usage_.peak_held_over_bytes = std::max(usage_.peak_held_over_bytes, usage_.held_over_bytes);
}
/// \return True if the window may have a slot more: no other field of the slot is held either.
bool SlotPool::let_go(FieldPool& pool) {
  const std::uint64_t held = pool.held--;
  if (held <= kHeldSlots) return --pools_holding_[held - 1] == 0;
  usage_.held_over_bytes -= pool.held_bytes;
  return false;
}

bool SlotPool::room(bool starving) const {
  const std::lock_guard lock(mutex_);
  const auto held = std::ranges::count_if(pools_holding_, [](std::uint64_t pools) { return pools > 0; });
  return starving || acquired_ + static_cast<std::uint64_t>(held) < slots_;
}

void SlotPool::add_bytes(std::uint64_t bytes) {
  usage_.allocated_bytes += bytes;
  usage_.peak_bytes =
      std::max(usage_.peak_bytes, usage_.allocated_bytes - std::min(usage_.held_over_bytes, usage_.allocated_bytes));
}

Result<std::unique_ptr<SlotMemory>> SlotPool::acquire(const StepSizes&, bool) {
  auto slot = std::make_unique<PoolSlot>();
  slot->pool = shared_from_this();
  slot->buffers.resize(pools_.size());
  slot->fields.reserve(fields_->size());
  {
    const std::lock_guard lock(mutex_);
    ++acquired_;
    slot->counted = true;
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
    const struct Counted {  // as in use, before it is there
      SlotPool& self;
      FieldPool& pool;
      const PageBuffer& buffer;
      ~Counted() {
        if (buffer.data()) return;
        const std::lock_guard lock(self.mutex_);
        --pool.in_slots;
        self.usage_.allocated_bytes -= PageBuffer::charge_for(pool.buffer_bytes);
      }
    } counted{*this, pool, slot->buffers[f]};
    HEADRACE_ASSIGN(slot->buffers[f], PageBuffer::allocate(pool.buffer_bytes));
  }
  for (std::size_t f = 0; f < fields_->size(); ++f)
    slot->fields.push_back(pools_[f].buffer_bytes != 0 ? slot->buffers[f].data()
                                                       : slot->buffers.back().data() + pools_[f].small_offset);
  return std::unique_ptr<SlotMemory>(std::move(slot));
}

Batch SlotPool::deliver(std::unique_ptr<SlotMemory> memory, const StepContent&, std::uint64_t rows, std::uint64_t epoch,
                        std::uint64_t index, std::vector<DerivedColumn> derived) {
  auto& slot = static_cast<PoolSlot&>(*memory);
  Batch::Parts parts;
  parts.fields = batch_fields_;
  parts.rows = rows;
  parts.epoch = epoch;
  parts.index = index;
  parts.data.reserve(pools_.size());
  parts.holders.reserve(pools_.size());
  std::vector<FieldLease*> leases(fields_->size(), nullptr);
  std::vector<CopyLease*> copies;
  copies.reserve(pools_.size());
  const auto lend = [&](std::size_t f, std::shared_ptr<void> copy) {
    void* const data = copy.get();
    auto lease = std::make_shared<CopyLease>(shared_from_this(), f, std::move(copy));
    copies.push_back(lease.get());
    parts.data.push_back(static_cast<std::byte*>(data));
    parts.holders.emplace_back(std::move(lease), data);
  };
  for (std::size_t f = 0; f < num_delivered_; ++f) {
    if (pools_[f].buffer_bytes == 0) {
      lend(f, aligned_copy(slot.fields[f], rows * (*fields_)[f].row_bytes()));
      continue;
    }
    parts.data.push_back(slot.fields[f]);
    auto lease = std::make_shared<FieldLease>(shared_from_this(), f);
    leases[f] = lease.get();
    parts.holders.push_back(std::move(lease));
  }
  for (std::size_t d = 0; d < derived.size(); ++d) lend(fields_->size() + d, std::move(derived[d].memory));
  parts.array_rows = array_rows_of(num_delivered_, rows, derived);
  // What follows takes no memory: the buffers and their counts change hands together.
  PageBuffer surplus;  // freed without the lock
  {
    // At once from the window's to the consumer's: at no moment does the slot look free.
    const std::lock_guard lock(mutex_);
    --acquired_;
    slot.counted = false;
    for (CopyLease* copy : copies) copy->held = true;
    for (std::size_t f = 0; f + 1 < pools_.size(); ++f) {
      FieldPool& pool = pools_[f];
      if (pool.staged) continue;
      hold(pool);
      if (pool.buffer_bytes != 0) {
        leases[f]->buffer = std::move(slot.buffers[f]);
        --pool.in_slots;
      } else if (!pool.derived || pool.held > kHeldSlots) {
        usage_.allocated_bytes += pool.held_bytes;
      }
    }
    if (PageBuffer& small = slot.buffers.back(); small.data()) {
      --pools_.back().in_slots;
      surplus = put_back(pools_.back(), std::move(small));
    }
    add_bytes(0);
  }
  memory.reset();  // what was staged goes back
  tell_released();
  return Batch(std::move(parts));
}

/// A buffer came back that is counted nowhere else any more. \return It, where the pool has no use for it.
PageBuffer SlotPool::put_back(FieldPool& pool, PageBuffer buffer) {
  if (covered(pool) < slots_) {
    pool.free.push_back(std::move(buffer));
    return {};
  }
  usage_.allocated_bytes -= buffer.charged_bytes();
  return buffer;
}

void SlotPool::give_back(std::size_t field, PageBuffer buffer, bool held) {
  if (::getpid() != owner_pid_) return;  // a forked child owns a copy of the pages, not of the pool's threads and locks
  bool room = false;
  {
    const std::lock_guard lock(mutex_);
    FieldPool& pool = pools_[field];
    if (held)
      room = let_go(pool);
    else
      --pool.in_slots;
    buffer = put_back(pool, std::move(buffer));
  }
  if (room) tell_released();
}

void SlotPool::drop_copy(std::size_t field) {
  if (::getpid() != owner_pid_) return;
  bool room = false;
  {
    const std::lock_guard lock(mutex_);
    FieldPool& pool = pools_[field];
    if (!pool.derived || pool.held > kHeldSlots) usage_.allocated_bytes -= pool.held_bytes;
    room = let_go(pool);
  }
  if (room) tell_released();
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
    while (!pool.free.empty() && covered(pool) > slots_) {
      usage_.allocated_bytes -= pool.free.back().charged_bytes();
      pool.free.pop_back();
    }
}

void SlotPool::limit_slots(std::uint64_t slots) {
  const std::lock_guard lock(mutex_);
  if (slots_ != 0) slots_ = std::clamp<std::uint64_t>(slots, 1, most_slots_);
  free_surplus();
}

void SlotPool::close() {
  const std::lock_guard lock(mutex_);
  slots_ = 0;
  free_surplus();
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
