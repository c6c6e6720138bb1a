#include "storage/testing/file_doubles.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace headrace {

Status SlowFile::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  std::this_thread::sleep_for(std::chrono::nanoseconds(model_.request_ns(out.size())));
  return WrappedFile::read_at(offset, out);
}

Status FaultyFile::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  HEADRACE_TRY(check_unchanged());
  const std::uint64_t number = reads_.fetch_add(1, std::memory_order_relaxed);
  const ByteRange range{offset, out.size()};
  HEADRACE_TRY(WrappedFile::read_at(offset, out));
  for (const Fault& fault : faults_) {
    if (fault.nth_read && *fault.nth_read != number) continue;
    const ByteRange hit = fault.bytes.size == 0 ? range : fault.bytes;
    const std::uint64_t first = std::max(hit.offset, range.offset), end = std::min(hit.end(), range.end());
    if (first >= end) continue;
    if (fault.error)
      return Error(*fault.error, "a fault was injected").with_file(name()).with_bytes(range).with_stage("read");
    for (std::uint64_t i = first; i < end; ++i) out[i - offset] ^= static_cast<std::byte>(fault.flip);
  }
  return {};
}

Status FaultyFile::check_unchanged() const {
  if (changed_.load(std::memory_order_relaxed))
    return Error(ErrorCode::kFileChanged, "a change was injected").with_file(name()).with_stage("read");
  return WrappedFile::check_unchanged();
}

Status CountingFile::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  {
    const std::lock_guard guard(mutex_);
    ranges_.push_back({offset, out.size()});
  }
  return WrappedFile::read_at(offset, out);
}

std::uint64_t CountingFile::num_reads() const {
  const std::lock_guard guard(mutex_);
  return ranges_.size();
}

std::uint64_t CountingFile::num_bytes() const {
  const std::lock_guard guard(mutex_);
  std::uint64_t sum = 0;
  for (const ByteRange& range : ranges_) sum += range.size;
  return sum;
}

std::vector<ByteRange> CountingFile::ranges() const {
  const std::lock_guard guard(mutex_);
  return ranges_;
}

void CountingFile::reset() {
  const std::lock_guard guard(mutex_);
  ranges_.clear();
}

}  // namespace headrace
