// PageBuffer: memory straight from the system, page-aligned, given back when it goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/result.h"

namespace headrace {

/// Anonymous memory that the kernel fills with zeros as it is first touched; nothing is faulted in advance. From 2 MiB on
/// it is aligned to 2 MiB and asks for huge pages, which makes first touches and TLB misses cheap. Move-only.
class PageBuffer {
 public:
  PageBuffer() = default;
  /// Errors: kOutOfBudget if the system refuses.
  static Result<PageBuffer> allocate(std::uint64_t size_bytes);
  ~PageBuffer() { release(); }
  PageBuffer(PageBuffer&& other) noexcept { *this = std::move(other); }
  PageBuffer& operator=(PageBuffer&& other) noexcept;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }
  /// What a budget must count: size_bytes rounded up to whole pages (huge ones from 2 MiB on).
  [[nodiscard]] std::uint64_t charged_bytes() const { return charged_bytes(size_bytes_); }
  static std::uint64_t charged_bytes(std::uint64_t size_bytes);
  [[nodiscard]] std::span<std::byte> span() const { return {data_, static_cast<std::size_t>(size_bytes_)}; }
  /// Give the memory back now.
  void release();

 private:
  std::byte* data_ = nullptr;
  std::uint64_t size_bytes_ = 0;
  void* mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;
};

}  // namespace headrace
