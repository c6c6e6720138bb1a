#include "cache/blocks/block_cache.h"

#include <algorithm>
#include <cstring>

namespace headrace {

BlockCache::BlockCache(std::shared_ptr<MemoryBudget> budget, Options options)
    : budget_(std::move(budget)),
      options_(std::move(options)),
      capacity_bytes_(options_.capacity_bytes),
      coded_share_(options_.coded_share) {}

/// Return what a block of `rows` is likely to take, as a budget counts it.
std::uint64_t BlockCache::expected_bytes(std::uint64_t rows) const {
  return static_cast<std::uint64_t>(static_cast<double>(PageBuffer::charge_for(options_.form.bytes(rows))) *
                                    coded_share_);
}

void BlockCache::refuse() {
  if (!growing_.load(std::memory_order_relaxed)) ++refused_;
}

bool BlockCache::admits(std::uint64_t rows, std::uint64_t next_use) const {
  if (closed_) return false;
  const std::uint64_t expected = expected_bytes(rows);
  if (bytes_ + expected <= capacity_bytes_) return true;
  return expected <= capacity_bytes_ && beats_last(next_use);
}

BlockCache::Lookup BlockCache::look_up(std::uint32_t block, std::uint64_t rows, std::uint64_t next_use, bool may_fill,
                                       std::shared_ptr<const KeptBlock>& out) {
  std::unique_lock lock(mutex_);
  auto it = entries_.find(block);
  for (; it != entries_.end() && !it->second.kept; it = entries_.find(block)) filled_.wait(lock);
  if (it != entries_.end()) {
    ++usage_.hits;
    Entry& entry = it->second;
    by_use_.erase({entry.next_use, block});
    by_use_.insert({entry.next_use = next_use, block});
    out = entry.kept;
    return Lookup::kHit;
  }
  ++usage_.misses;
  if (!may_fill) return Lookup::kPass;
  if (!admits(rows, next_use)) {
    refuse();
    return Lookup::kPass;
  }
  entries_[block].next_use = next_use;
  return Lookup::kFill;
}

std::shared_ptr<const KeptBlock> BlockCache::find(std::uint32_t block) {
  const std::lock_guard lock(mutex_);
  const auto it = entries_.find(block);
  if (it == entries_.end() || !it->second.kept || it->second.kept->rows == 0) return nullptr;
  ++usage_.hits;
  return it->second.kept;
}

void BlockCache::evict_last() {
  const auto last = std::prev(by_use_.end());
  const auto it = entries_.find(last->second);
  bytes_ -= it->second.kept->data.charged_bytes();
  entries_.erase(it);
  by_use_.erase(last);
  ++usage_.evictions;
}

void BlockCache::put(std::uint32_t block, std::uint64_t rows, std::uint64_t next_use, const std::byte* block_bytes,
                     std::span<std::byte> spare) {
  auto kept = std::make_shared<KeptBlock>();
  const std::byte* from = block_bytes;
  std::uint64_t size = options_.form.bytes(rows);
  kept->block = block;
  kept->rows = rows;
  kept->coding = options_.coding;
  if (kept->coding != BlockCoding::kRaw) {
    Result<CodedBlock> coded = encode_block(options_.form, rows, kept->coding, block_bytes, spare);
    if (!coded.ok()) return abandon(block);
    kept->coded = std::move(*coded);
    size = kept->coded.bytes();
    from = spare.data();
  }
  const std::uint64_t charge = PageBuffer::charge_for(size);
  {
    const std::lock_guard lock(mutex_);
    if (options_.coding != BlockCoding::kRaw)  // also of those that do not fit: the next of their like is not encoded
      coded_share_ +=
          (static_cast<double>(charge) / static_cast<double>(options_.form.bytes(rows)) - coded_share_) / 16;
    while (bytes_ + charge > capacity_bytes_ && beats_last(next_use)) evict_last();
    if (closed_ || bytes_ + charge > capacity_bytes_) {
      refuse();
      entries_.erase(block);
      filled_.notify_all();
      return;
    }
    bytes_ += charge;  // promised; the memory comes below, without the lock
  }
  if (size > 0) {
    Result<PageBuffer> memory = slabs_->allocate(*budget_, MemoryTag::kBlockCache, size);
    if (memory.ok()) {
      std::memcpy(memory->data(), from, size);
      kept->data = std::move(*memory);
    }
  }
  const std::lock_guard lock(mutex_);
  if (kept->data.size_bytes() < size || closed_) {  // others needed the memory meanwhile
    bytes_ -= charge;
    if (!closed_) keep_to_bytes();
    entries_.erase(block);
  } else {
    entries_[block] = {std::move(kept), next_use};
    by_use_.insert({next_use, block});
    usage_.peak_bytes = std::max(usage_.peak_bytes, bytes_);
  }
  filled_.notify_all();
}

void BlockCache::abandon(std::uint32_t block) {
  const std::lock_guard lock(mutex_);
  entries_.erase(block);
  filled_.notify_all();
}

std::uint64_t BlockCache::reclaimable_bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

std::uint64_t BlockCache::reclaim(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t before = bytes_;
  while (before - bytes_ < bytes && !by_use_.empty()) evict_last();
  keep_to_bytes();
  return before - bytes_;
}

/// Others need the memory that is missing. With the lock.
void BlockCache::keep_to_bytes() {
  has_given_ = has_given_ || bytes_ < capacity_bytes_;
  capacity_bytes_ = std::min(capacity_bytes_, bytes_);
}

void BlockCache::take_back(std::uint64_t bytes) {
  const std::uint64_t free = budget_->free_bytes();
  const std::lock_guard lock(mutex_);
  capacity_bytes_ = std::max(capacity_bytes_, std::min(bytes, bytes_ + free));
  has_given_ = capacity_bytes_ < bytes;
}

void BlockCache::set_capacity(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  capacity_bytes_ = bytes;
  while (bytes_ > capacity_bytes_ && !by_use_.empty()) evict_last();
}

bool BlockCache::contains(std::uint32_t block) const {
  const std::lock_guard lock(mutex_);
  return entries_.contains(block);
}

std::uint64_t BlockCache::num_blocks() const {
  const std::lock_guard lock(mutex_);
  return by_use_.size();
}

std::uint64_t BlockCache::capacity_bytes() const {
  const std::lock_guard lock(mutex_);
  return capacity_bytes_;
}

bool BlockCache::is_short_of_room(std::uint64_t blocks, std::uint64_t rows) const {
  const std::lock_guard lock(mutex_);
  return bytes_ + blocks * expected_bytes(rows) > capacity_bytes_;
}

void BlockCache::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  while (!by_use_.empty()) evict_last();
}

BlockCache::Usage BlockCache::usage() const {
  const std::lock_guard lock(mutex_);
  Usage u = usage_;
  u.blocks = by_use_.size();
  u.bytes = bytes_;
  u.capacity_bytes = capacity_bytes_;
  u.refused = refused_;
  u.coding = options_.coding;
  u.coded_share = coded_share_;
  return u;
}

}  // namespace headrace
