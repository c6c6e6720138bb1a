// FileMapping: the bytes of a file in memory, shared with all that map it.
#pragma once

#include <headrace/error.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/result.h"

namespace headrace {

/// Move-only. The descriptor may be closed afterwards. A file that is cut off while it is mapped raises SIGBUS
/// in its readers: no way around it but not to map.
class FileMapping {
 public:
  FileMapping() = default;
  /// Map the first `size_bytes`, more than 0. Errors: kOutOfBudget: no address space; kReadFailed.
  static Result<FileMapping> map(int fd, std::uint64_t size_bytes, bool writable);
  FileMapping(FileMapping&& other) noexcept { swap(other); }
  FileMapping& operator=(FileMapping&& other) noexcept {
    swap(other);
    return *this;
  }
  ~FileMapping();

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }
  /// Do not read ahead of what is touched.
  void expect_random_reads() const;
  /// Start to read these bytes into the page cache; does not wait.
  void will_need(ByteRange range) const;

 private:
  void swap(FileMapping& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_bytes_, other.size_bytes_);
  }
  std::byte* data_ = nullptr;
  std::uint64_t size_bytes_ = 0;
};

}  // namespace headrace
