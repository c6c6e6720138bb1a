#include "format/hdf5/structure/heap_text.h"

#include <cstring>
#include <span>

#include "base/memory/align.h"
#include "format/hdf5/structure/object_header.h"

namespace headrace::hdf5 {
namespace {

constexpr std::uint64_t kTextHeapLimitBytes = 4 << 20;  // read whole; usually 4 KiB
constexpr std::uint64_t kTextHeapStep = 8;              // objects are padded to it

}  // namespace

bool HeapTexts::read(std::uint64_t at, std::vector<std::byte>& bytes) {
  if (bytes.size() > kMostBytes - read_bytes_) return false;
  read_bytes_ += bytes.size();
  return file_.read_at(at, bytes).ok();
}

void HeapTexts::load(std::uint64_t address) {
  address_ = address;
  heap_.clear();
  objects_.clear();
  std::uint64_t at = 0;
  const std::size_t prefix = 8 + superblock_.length_bytes;
  std::vector<std::byte> head(prefix);
  if (__builtin_add_overflow(address, superblock_.at, &at) || at > file_.size() || prefix > file_.size() - at ||
      !read(at, head) || std::memcmp(head.data(), "GCOL", 4) != 0)
    return;
  ByteCursor head_fields(std::span<const std::byte>(head).subspan(8));
  const std::uint64_t heap_bytes = head_fields.number(superblock_.length_bytes);
  if (heap_bytes < prefix || heap_bytes > kTextHeapLimitBytes || heap_bytes > file_.size() - at) return;
  heap_.resize(static_cast<std::size_t>(heap_bytes));
  if (!read(at, heap_)) return;
  ByteCursor fields(heap_);
  fields.skip(align_up(prefix, kTextHeapStep));
  const std::uint64_t object_head = align_up(8 + superblock_.length_bytes, kTextHeapStep);
  while (fields.left() >= object_head) {
    const std::uint64_t number = fields.number(2);
    fields.skip(6);
    const std::uint64_t bytes = fields.number(superblock_.length_bytes);
    fields.skip(object_head - 8 - superblock_.length_bytes);
    if (number == 0 || bytes > heap_bytes) return;  // free space comes last
    const std::uint64_t offset = heap_bytes - fields.left();
    fields.take(align_up(bytes, kTextHeapStep));
    if (!fields.ok()) return;
    objects_.try_emplace(number, Object{offset, bytes});
  }
}

std::optional<std::string> HeapTexts::text(std::uint64_t address, std::uint64_t index, std::uint64_t length) {
  if (address_ != address) load(address);
  const auto found = objects_.find(index);
  if (found == objects_.end() || length > found->second.size) return {};
  const std::byte* const first = heap_.data() + found->second.offset;
  return std::string(reinterpret_cast<const char*>(first), static_cast<std::size_t>(length));
}

}  // namespace headrace::hdf5
