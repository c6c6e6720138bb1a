// PageBuffer: large memory straight from the kernel, given back to it at once when freed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/memory/memory_budget.h"
#include "base/result.h"

namespace headrace {

class PageSlabs;

/// Zeroed private memory, page aligned; with a mapping of its own from 2 MiB on 2 MiB aligned and asked to be in huge
/// pages. Pages become
/// resident when they are first touched. Move-only. Threads: one at a time for the buffer itself; its bytes are the
/// user's matter.
class PageBuffer {
 public:
  PageBuffer() = default;
  /// Errors: kOutOfBudget  the system gives no more address space or memory.
  static Result<PageBuffer> allocate(std::uint64_t size_bytes);
  /// Reserve charged_bytes() of `budget` first; they are given back with the memory.
  /// Errors: kOutOfBudget.
  static Result<PageBuffer> allocate(MemoryBudget& budget, MemoryTag tag, std::uint64_t size_bytes);
  PageBuffer(PageBuffer&& other) noexcept { swap(other); }
  PageBuffer& operator=(PageBuffer&& other) noexcept {
    PageBuffer(std::move(other)).swap(*this);
    return *this;
  }
  ~PageBuffer() { reset(); }

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }
  [[nodiscard]] std::span<std::byte> bytes() const { return {data_, size_bytes_}; }
  /// Return what the buffer can take of physical memory: its size rounded up to pages.
  [[nodiscard]] std::uint64_t charged_bytes() const { return charge_for(size_bytes_); }
  static std::uint64_t charge_for(std::uint64_t size_bytes);

  /// Give the memory, and what was reserved for it, back.
  void reset();

 private:
  void swap(PageBuffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_bytes_, other.size_bytes_);
    std::swap(reservation_, other.reservation_);
    std::swap(slabs_, other.slabs_);
  }
  friend class PageSlabs;
  std::byte* data_ = nullptr;
  std::uint64_t size_bytes_ = 0;
  MemoryReservation reservation_;
  std::shared_ptr<PageSlabs> slabs_;  // whose memory it is; null: a mapping of its own
};

/// Make the pages that `bytes` lie in resident, which changes no byte: so that what fresh memory costs can be measured.
/// Threads: others may write there meanwhile.
void make_resident(std::span<std::byte> bytes);
/// Give the whole pages within `bytes`, a part of a PageBuffer, to the system: they are zeros when they are next
/// touched. Threads: nothing may use these bytes meanwhile.
void discard_pages(std::span<std::byte> bytes);

}  // namespace headrace
