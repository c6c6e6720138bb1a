#include "base/memory/page_slabs.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace headrace {
namespace {

constexpr std::uint64_t kLeastSlabBytes = std::uint64_t{16} << 20, kMostSlabBytes = std::uint64_t{1} << 30;

}  // namespace

/// Return the first place in the slab that is large enough; null: there is none.
std::byte* PageSlabs::take(Slab& slab, std::uint64_t length) {
  if (slab.memory.size_bytes() - slab.used_bytes < length) return nullptr;
  const auto hole = std::ranges::find_if(slab.holes, [&](const auto& h) { return h.second >= length; });
  if (hole == slab.holes.end()) return nullptr;
  const auto [offset, size] = *hole;
  if (size > length) slab.used.emplace(offset, length);  // all that can fail
  auto node = slab.holes.extract(hole);
  if (size > length) {
    node.key() = offset + length, node.mapped() = size - length;
    slab.holes.insert(std::move(node));
  } else {
    slab.used.insert(std::move(node));
  }
  slab.used_bytes += length;
  return slab.memory.data() + offset;
}

/// Map another slab, twice as much as all before it, so that there are few.
Result<PageSlabs::Slab*> PageSlabs::add_slab(std::uint64_t length) {
  const std::uint64_t wanted = std::max(std::clamp(mapped_bytes_, kLeastSlabBytes, kMostSlabBytes), length);
  Result<PageBuffer> memory = PageBuffer::allocate(wanted);
  if (!memory.ok() && wanted > length) memory = PageBuffer::allocate(length);  // addresses are limited: ulimit -v
  if (!memory.ok()) return std::move(memory.error());
  std::byte* const start = memory->data();
  Slab slab{.memory = std::move(*memory), .used_bytes = 0, .used = {}, .holes = {}};
  slab.holes.emplace(0, slab.memory.size_bytes());
  Slab& kept = slabs_.emplace(start, std::move(slab)).first->second;
  mapped_bytes_ += kept.memory.size_bytes();
  return &kept;
}

Result<PageBuffer> PageSlabs::allocate(MemoryBudget& budget, MemoryTag tag, std::uint64_t size_bytes) {
  const std::uint64_t length = PageBuffer::charge_for(size_bytes);
  HEADRACE_ASSIGN(MemoryReservation reservation, budget.try_reserve(tag, length));
  PageBuffer buffer;
  buffer.reservation_ = std::move(reservation);
  if (size_bytes == 0) return buffer;
  const std::lock_guard lock(mutex_);
  std::byte* data = nullptr;
  for (auto slab = slabs_.begin(); slab != slabs_.end() && data == nullptr; ++slab) data = take(slab->second, length);
  if (data == nullptr) {
    HEADRACE_ASSIGN(Slab* const slab, add_slab(length));
    data = take(*slab, length);
  }
  buffer.data_ = data;
  buffer.size_bytes_ = size_bytes;
  buffer.slabs_ = shared_from_this();
  return buffer;
}

void PageSlabs::give_back(std::byte* data, std::uint64_t length) {
  // While no other caller can have them. The next user finds zeros, also in memory that is locked (mlockall).
  if (::madvise(data, length, MADV_DONTNEED) != 0) std::memset(data, 0, length);
  const std::lock_guard lock(mutex_);
  const auto at = std::prev(slabs_.upper_bound(data));
  Slab& slab = at->second;
  slab.used_bytes -= length;
  if (slab.used_bytes == 0) {
    mapped_bytes_ -= slab.memory.size_bytes();
    slabs_.erase(at);
    return;
  }
  const auto hole = slab.holes.insert(slab.used.extract(static_cast<std::uint64_t>(data - at->first))).position;
  const auto join_next = [&](auto first) {
    const auto next = std::next(first);
    if (next == slab.holes.end() || first->first + first->second != next->first) return;
    first->second += next->second;
    slab.holes.erase(next);
  };
  join_next(hole);
  if (hole != slab.holes.begin()) join_next(std::prev(hole));
}

PageSlabs::Usage PageSlabs::usage() const {
  const std::lock_guard lock(mutex_);
  Usage usage{slabs_.size(), mapped_bytes_, 0};
  for (const auto& [start, slab] : slabs_) usage.used_bytes += slab.used_bytes;
  return usage;
}

}  // namespace headrace
