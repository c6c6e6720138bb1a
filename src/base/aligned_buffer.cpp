#include "base/aligned_buffer.h"

#include <fmt/format.h>
#include <headrace/base/bytes.h>
#include <sys/mman.h>

namespace headrace {
namespace {
constexpr std::uint64_t kPage = 4096, kHugePage = 2 << 20;
constexpr std::uint64_t round_up(std::uint64_t n, std::uint64_t to) { return (n + to - 1) / to * to; }
}  // namespace

std::uint64_t PageBuffer::charged_bytes(std::uint64_t size_bytes) {
  return round_up(size_bytes, size_bytes >= kHugePage ? kHugePage : kPage);
}

Result<PageBuffer> PageBuffer::allocate(std::uint64_t size_bytes) {
  PageBuffer buffer;
  if (size_bytes == 0) return buffer;
  const bool huge = size_bytes >= kHugePage;
  const std::uint64_t useful = charged_bytes(size_bytes), mapped = useful + (huge ? kHugePage : 0);
  void* p = size_bytes > (std::uint64_t{1} << 46)
                ? MAP_FAILED
                : ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    return Error(ErrorCode::kOutOfBudget, fmt::format("the system has no {} of memory to give", format_bytes(size_bytes)))
        .with_hint("Lower `memory`, the batch size or the number of threads.");
  buffer.mapping_ = p;
  buffer.mapping_bytes_ = mapped;
  buffer.size_bytes_ = size_bytes;
  auto address = reinterpret_cast<std::uintptr_t>(p);
  if (huge) {
    address = round_up(address, kHugePage);
    ::madvise(reinterpret_cast<void*>(address), useful, MADV_HUGEPAGE);
  }
  buffer.data_ = reinterpret_cast<std::byte*>(address);
  return buffer;
}

PageBuffer& PageBuffer::operator=(PageBuffer&& other) noexcept {
  if (this != &other) {
    release();
    data_ = std::exchange(other.data_, nullptr);
    size_bytes_ = std::exchange(other.size_bytes_, 0);
    mapping_ = std::exchange(other.mapping_, nullptr);
    mapping_bytes_ = std::exchange(other.mapping_bytes_, 0);
  }
  return *this;
}

void PageBuffer::release() {
  if (mapping_) ::munmap(mapping_, mapping_bytes_);
  data_ = nullptr;
  mapping_ = nullptr;
  size_bytes_ = mapping_bytes_ = 0;
}

}  // namespace headrace
