#include "format/hdf5/heap_text.h"

#include <cstring>
#include <vector>

#include "format/hdf5/object_header.h"

namespace headrace::hdf5 {
namespace {

constexpr std::uint64_t kHeapLimitBytes = 4 << 20;  // read whole for each text; usually 4 KiB

std::uint64_t padded(std::uint64_t n) {
  return (n + 7) / 8 * 8;
}

}  // namespace

std::optional<std::string> heap_text(const RandomAccessFile& file, const Superblock& superblock, std::uint64_t address,
                                     std::uint64_t index, std::uint64_t length) {
  std::uint64_t at = 0;
  const std::size_t prefix = 8 + superblock.length_bytes;
  std::vector<std::byte> head(prefix);
  if (__builtin_add_overflow(address, superblock.at, &at) || at > file.size() || prefix > file.size() - at ||
      !file.read_at(at, head).ok() || std::memcmp(head.data(), "GCOL", 4) != 0)
    return {};
  ByteCursor head_fields(std::span<const std::byte>(head).subspan(8));
  const std::uint64_t heap_bytes = head_fields.number(superblock.length_bytes);
  if (heap_bytes < prefix || heap_bytes > kHeapLimitBytes || heap_bytes > file.size() - at) return {};
  std::vector<std::byte> heap(static_cast<std::size_t>(heap_bytes));
  if (!file.read_at(at, heap).ok()) return {};
  ByteCursor fields(heap);
  fields.skip(padded(prefix));
  while (fields.left() >= padded(8 + superblock.length_bytes)) {
    const std::uint64_t number = fields.number(2);
    fields.skip(6);
    const std::uint64_t bytes = fields.number(superblock.length_bytes);
    fields.skip(padded(8 + superblock.length_bytes) - 8 - superblock.length_bytes);
    if (number == 0 || bytes > heap_bytes) return {};  // free space comes last
    const std::span<const std::byte> object = fields.take(padded(bytes));
    if (!fields.ok()) return {};
    if (number != index) continue;
    if (length > bytes) return {};
    return std::string(reinterpret_cast<const char*>(object.data()), static_cast<std::size_t>(length));
  }
  return {};
}

}  // namespace headrace::hdf5
