#include "cache/block_cache.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/clock.h"

namespace headrace {

BlockCache::BlockCache(std::shared_ptr<MemoryBudget> budget, Options options)
    : budget_(std::move(budget)),
      options_(std::move(options)),
      capacity_bytes_(options_.capacity_bytes),
      decided_(options_.capacity_bytes >= options_.total_bytes || !can_encode(options_.form, options_.max_block_rows)) {
}

bool BlockCache::admits(std::uint64_t bytes, std::uint64_t next_use) const {
  if (closed_) return false;
  const auto expected = static_cast<std::uint64_t>(static_cast<double>(bytes) * coded_share_);
  if (bytes_ + expected <= capacity_bytes_) return true;
  return expected <= capacity_bytes_ && beats_last(next_use);
}

BlockCache::Take BlockCache::take(std::uint32_t block, std::uint64_t rows, std::uint64_t next_use,
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
    return Take::kHit;
  }
  ++usage_.misses;
  if (!admits(PageBuffer::charge_for(options_.form.bytes(rows)), next_use)) return Take::kPass;
  entries_[block].next_use = next_use;
  return Take::kFill;
}

void BlockCache::evict_last() {
  const auto last = std::prev(by_use_.end());
  const auto it = entries_.find(last->second);
  bytes_ -= it->second.kept->data.charged_bytes();
  entries_.erase(it);
  by_use_.erase(last);
  ++usage_.evictions;
}

/// The first block decides, for all: what each encoding makes of it, against its decoding from the file.
void BlockCache::try_codings(std::uint64_t rows, const std::byte* block, std::span<std::byte> spare,
                             std::uint64_t decode_ns) {
  std::array<CodingTrial, 2> trials;
  std::size_t count = 0;
  const std::uint64_t bytes = options_.form.bytes(rows);
  Result<PageBuffer> back = PageBuffer::allocate(bytes);
  for (const BlockCoding coding : {BlockCoding::kLz4, BlockCoding::kZstd}) {
    const auto coded = encode_block(options_.form, rows, coding, block, spare);
    if (!coded.ok() || !back.ok()) continue;
    const std::uint64_t size = coded->ends.back();
    std::uint64_t best_ns = ~std::uint64_t{0};
    for (int i = 0; i < 2; ++i) {  // the first time pays for fresh memory
      const std::uint64_t start = now_ns();
      if (!decode_block(options_.form, rows, *coded, spare.first(size), back->data()).ok()) break;
      best_ns = std::min(best_ns, now_ns() - start);
    }
    trials[count++] = {coding, static_cast<double>(size) / static_cast<double>(std::max<std::uint64_t>(bytes, 1)),
                       static_cast<double>(best_ns)};
  }
  const double held = static_cast<double>(options_.capacity_bytes) /
                      static_cast<double>(std::max<std::uint64_t>(options_.total_bytes, 1));
  const BlockCoding chosen = choose_coding(std::span(trials).first(count), static_cast<double>(decode_ns), held);
  const std::lock_guard lock(mutex_);
  coding_ = chosen;
  for (const CodingTrial& t : trials)
    if (t.coding == chosen && chosen != BlockCoding::kRaw) coded_share_ = t.coded_share;
  decided_ = true;
}

void BlockCache::put(std::uint32_t block, std::uint64_t rows, std::uint64_t next_use, const std::byte* block_bytes,
                     std::span<std::byte> spare, std::uint64_t decode_ns) {
  bool tries = false;
  {
    const std::lock_guard lock(mutex_);
    tries = !decided_ && !trying_ && rows == options_.max_block_rows;
    trying_ |= tries;
  }
  if (tries) try_codings(rows, block_bytes, spare, decode_ns);
  auto kept = std::make_shared<KeptBlock>();
  const std::byte* from = block_bytes;
  std::uint64_t size = options_.form.bytes(rows);
  {
    const std::lock_guard lock(mutex_);
    kept->coding = coding_;
  }
  if (kept->coding != BlockCoding::kRaw) {
    Result<CodedBlock> coded = encode_block(options_.form, rows, kept->coding, block_bytes, spare);
    if (!coded.ok()) return abandon(block);
    kept->coded = std::move(*coded);
    size = kept->coded.ends.back();
    from = spare.data();
  }
  const std::uint64_t charge = PageBuffer::charge_for(size);
  {
    const std::lock_guard lock(mutex_);
    while (bytes_ + charge > capacity_bytes_ && beats_last(next_use)) evict_last();
    if (closed_ || bytes_ + charge > capacity_bytes_) {
      entries_.erase(block);
      filled_.notify_all();
      return;
    }
    bytes_ += charge;  // promised; the memory comes below, without the lock
  }
  Result<PageBuffer> memory = PageBuffer::allocate(*budget_, MemoryTag::kBlockCache, size);
  if (memory.ok()) {
    std::memcpy(memory->data(), from, size);
    kept->data = std::move(*memory);
  }
  const std::lock_guard lock(mutex_);
  if (!kept->data.data() || closed_) {  // others needed the memory meanwhile
    bytes_ -= charge;
    if (!closed_) capacity_bytes_ = std::min(capacity_bytes_, bytes_);
    entries_.erase(block);
  } else {
    entries_[block] = {std::move(kept), next_use};
    by_use_.insert({next_use, block});
    usage_.peak_bytes = std::max(usage_.peak_bytes, bytes_);
    if (coding_ != BlockCoding::kRaw)
      coded_share_ += (static_cast<double>(size) / static_cast<double>(options_.form.bytes(rows)) - coded_share_) / 16;
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
  capacity_bytes_ = std::min(capacity_bytes_, bytes_);
  return before - bytes_;
}

void BlockCache::set_capacity(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  capacity_bytes_ = bytes;
  while (bytes_ > capacity_bytes_ && !by_use_.empty()) evict_last();
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
  u.coding = coding_;
  u.coded_share = coded_share_;
  return u;
}

}  // namespace headrace
