// PageSlabs: memory for many buffers out of few mappings.
//
// A buffer with a mapping of its own is a line of /proc/self/maps, and Linux allows a process 65,530 of them
// (vm.max_map_count); from then on every mmap() fails, those of threads and drivers too. Buffers of 2.5 MiB would get
// there at 150 GB. Here they lie one behind the other in slabs of up to 1 GiB. Pages of a buffer that is given back go
// back to the system at once, its place is used again, and a slab without buffers is unmapped.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "base/memory/page_buffer.h"
#include "base/threads/fork_safe_mutex.h"

namespace headrace {

/// Threads: any. Its buffers keep it alive.
class PageSlabs : public std::enable_shared_from_this<PageSlabs> {
 public:
  static std::shared_ptr<PageSlabs> create() { return std::shared_ptr<PageSlabs>(new PageSlabs); }
  PageSlabs(const PageSlabs&) = delete;
  PageSlabs& operator=(const PageSlabs&) = delete;

  /// Reserve charged_bytes() of `budget`, then allocate: as PageBuffer::allocate(), without a mapping of its own, and
  /// aligned to pages only, however large. Errors: kOutOfBudget. Giving a buffer back allocates nothing.
  Result<PageBuffer> allocate(MemoryBudget& budget, MemoryTag tag, std::uint64_t size_bytes);

  struct Usage {
    std::uint64_t slabs = 0;
    std::uint64_t mapped_bytes = 0;  ///< Addresses; pages that are not used take no memory.
    std::uint64_t used_bytes = 0;
  };
  [[nodiscard]] Usage usage() const;

 private:
  friend class PageBuffer;
  PageSlabs() = default;
  struct Slab {
    PageBuffer memory;
    std::uint64_t used_bytes = 0;
    // offset -> bytes. Nodes move from one to the other: a destructor can make none. Holes never touch each other.
    std::map<std::uint64_t, std::uint64_t> used, holes;
  };
  Result<Slab*> add_slab(std::uint64_t length);
  static std::byte* take(Slab& slab, std::uint64_t length);
  void give_back(std::byte* data, std::uint64_t length);

  mutable ForkSafeMutex mutex_;
  std::map<std::byte*, Slab> slabs_;  // by their first byte
  std::uint64_t mapped_bytes_ = 0;
};

}  // namespace headrace
