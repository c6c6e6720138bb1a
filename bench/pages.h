// Memory as a yardstick would have it: in huge pages where the system gives them.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

namespace bench {

/// Memory on a 2 MiB boundary. Zeroed and faulted by the constructor, or, if kUntouched, when it is first written to.
class Pages {
 public:
  enum Kind : bool { kUntouched, kFaulted };

  explicit Pages(std::size_t bytes, Kind kind = kFaulted) : bytes_((bytes + kHuge - 1) / kHuge * kHuge) {
    data_ = static_cast<std::byte*>(std::aligned_alloc(kHuge, bytes_));
    if (data_ == nullptr) throw std::bad_alloc();
    madvise(data_, bytes_, MADV_HUGEPAGE);
    if (kind == kFaulted) std::memset(data_, 0, bytes_);
  }
  ~Pages() { std::free(data_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return bytes_; }

 private:
  static constexpr std::size_t kHuge = 2U << 20;
  std::size_t bytes_;
  std::byte* data_;
};

}  // namespace bench
