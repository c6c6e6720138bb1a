#include "cache/file_mapping.h"

#include <headrace/bytes.h>

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>

#include "base/machine/page_size.h"
#include "storage/file_calls.h"

namespace headrace {

Result<FileMapping> FileMapping::map(int fd, std::uint64_t size_bytes, bool writable) {
  void* const start = ::mmap(nullptr, size_bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
  if (start == MAP_FAILED) {
    const int error_number = errno;
    return Error(error_number == ENOMEM ? ErrorCode::kOutOfBudget : ErrorCode::kReadFailed,
                 fmt::format("mmap of {} failed with {}", format_bytes(size_bytes), errno_name(error_number)))
        .with_stage("cache")
        .with_hint(error_number == ENOMEM ? "Look at ulimit -v and at vm.max_map_count." : "");
  }
  FileMapping mapping;
  mapping.data_ = static_cast<std::byte*>(start);
  mapping.size_bytes_ = size_bytes;
  return mapping;
}

void FileMapping::expect_random_reads() const {
  ::madvise(data_, size_bytes_, MADV_RANDOM);
}

void FileMapping::will_need(ByteRange range) const {
  const std::uint64_t begin = range.offset / page_bytes() * page_bytes();
  ::madvise(data_ + begin, range.end() - begin, MADV_WILLNEED);
}

FileMapping::~FileMapping() {
  if (data_ != nullptr) ::munmap(data_, size_bytes_);
}

}  // namespace headrace
