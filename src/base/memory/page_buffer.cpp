#include "base/memory/page_buffer.h"

#include <headrace/bytes.h>

#include <fmt/format.h>
#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <cerrno>

#include "base/machine/page_size.h"
#include "base/memory/page_slabs.h"

namespace headrace {
namespace {

constexpr std::uint64_t kHugePageBytes = std::uint64_t{2} << 20;

Error no_memory(std::uint64_t size_bytes, int error_number) {
  return Error(ErrorCode::kOutOfBudget,
               fmt::format("the system gives no {} of memory (mmap: errno {}{})", format_bytes(size_bytes),
                           error_number, error_number == ENOMEM ? ", out of memory or address space" : ""))
      .with_hint("Look at ulimit -v, at vm.overcommit_memory, and lower memory=.");
}

}  // namespace

std::uint64_t PageBuffer::charge_for(std::uint64_t size_bytes) {
  const std::uint64_t mask = page_bytes() - 1;
  return size_bytes > ~mask ? size_bytes : (size_bytes + mask) & ~mask;
}

Result<PageBuffer> PageBuffer::allocate(std::uint64_t size_bytes) {
  PageBuffer buffer;
  if (size_bytes == 0) return buffer;
  if (size_bytes >= std::uint64_t{1} << 62) return no_memory(size_bytes, ENOMEM);
  const std::uint64_t length = charge_for(size_bytes);
  const bool huge = length >= kHugePageBytes;
  const std::uint64_t mapped = huge ? length + kHugePageBytes - page_bytes() : length;
  void* const start = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return no_memory(size_bytes, errno);
  auto* data = static_cast<std::byte*>(start);
  if (huge) {  // cut the ends off so that the buffer starts on a huge page
    const auto address = std::bit_cast<std::uintptr_t>(data);
    const std::uint64_t skip = -address & (kHugePageBytes - 1);
    if (skip != 0) ::munmap(data, skip);
    data += skip;
    const std::uint64_t tail = mapped - skip - length;
    if (tail != 0) ::munmap(data + length, tail);
    ::madvise(data, length, MADV_HUGEPAGE);  // a wish: kernels without huge pages say no
  }
  buffer.data_ = data;
  buffer.size_bytes_ = size_bytes;
  return buffer;
}

Result<PageBuffer> PageBuffer::allocate(MemoryBudget& budget, MemoryTag tag, std::uint64_t size_bytes) {
  HEADRACE_ASSIGN(MemoryReservation reservation, budget.try_reserve(tag, charge_for(size_bytes)));
  HEADRACE_ASSIGN(PageBuffer buffer, allocate(size_bytes));
  buffer.reservation_ = std::move(reservation);
  return buffer;
}

void PageBuffer::reset() {
  if (data_ != nullptr && slabs_)
    slabs_->give_back(data_, charged_bytes());
  else if (data_ != nullptr)
    ::munmap(data_, charged_bytes());
  slabs_.reset();
  data_ = nullptr;
  size_bytes_ = 0;
  reservation_.release();
}

void make_resident(std::span<std::byte> bytes) {
  const auto begin = std::bit_cast<std::uintptr_t>(bytes.data()), end = begin + bytes.size();
  const std::uintptr_t page = page_bytes(), first = begin / page * page;
  if (bytes.empty()) return;
#ifdef MADV_POPULATE_WRITE
  if (::madvise(std::bit_cast<void*>(first), end - first, MADV_POPULATE_WRITE) == 0) return;
#endif
  // Linux before 5.14: write a byte of each page. Adding nothing leaves what others write there alone.
  for (std::uintptr_t at = begin; at < end; at = (at / page + 1) * page)
    std::atomic_ref(*std::bit_cast<unsigned char*>(at)).fetch_or(0, std::memory_order_relaxed);
}

void discard_pages(std::span<std::byte> bytes) {
  const std::uintptr_t page = page_bytes(), begin = std::bit_cast<std::uintptr_t>(bytes.data());
  const std::uintptr_t first = (begin + page - 1) / page * page, end = (begin + bytes.size()) / page * page;
  if (first < end) ::madvise(std::bit_cast<void*>(first), end - first, MADV_DONTNEED);
}

}  // namespace headrace
