#include "format/hdf5/structure/global_heap.h"

#include <fmt/format.h>

#include <cstring>
#include <vector>

#include "base/memory/align.h"
#include "format/hdf5/structure/checksum.h"
#include "format/hdf5/structure/object_header.h"

namespace headrace::hdf5 {
namespace {

constexpr std::uint64_t kHeapLimitBytes = 64 << 20;
constexpr std::uint64_t kStep = 8;  // objects are padded to it

}  // namespace

Status check_global_heap(const RandomAccessFile& file, const Superblock& superblock, std::uint64_t address,
                         std::uint64_t index) {
  const auto damaged = [&](const char* why) {
    return Error(ErrorCode::kCorruptData, fmt::format("the global heap at {} is damaged: {}", address, why));
  };
  std::uint64_t at = 0;
  // Bytes of the heap's header, and of the header of each object in it.
  const std::uint64_t head_bytes = align_up(8 + superblock.length_bytes, kStep);
  if (__builtin_add_overflow(address, superblock.at, &at) || at > file.size() || head_bytes > file.size() - at)
    return damaged("it reaches past the end of the file");
  std::vector<std::byte> head(static_cast<std::size_t>(head_bytes));
  HEADRACE_TRY(file.read_at(at, head));
  if (std::memcmp(head.data(), "GCOL", 4) != 0) return damaged("no signature");
  ByteCursor head_fields(std::span<const std::byte>(head).subspan(8));
  const std::uint64_t size = head_fields.number(superblock.length_bytes);
  if (size < head_bytes || size > kHeapLimitBytes || size > file.size() - at) return damaged("its size");
  std::vector<std::byte> heap(static_cast<std::size_t>(size));
  HEADRACE_TRY(file.read_at(at, heap));
  ByteCursor fields(heap);
  fields.skip(head_bytes);
  std::span<const std::byte> wanted;
  while (fields.left() >= head_bytes) {
    const std::uint64_t number = fields.number(2);
    fields.skip(6);
    const std::uint64_t bytes = fields.number(superblock.length_bytes);
    fields.skip(head_bytes - 8 - superblock.length_bytes);
    if (bytes > size || (number == 0 && bytes < head_bytes)) return damaged("the size of an object");
    // Number 0 is free space, whose size counts its head as well.
    const std::span<const std::byte> object = fields.take(number == 0 ? bytes - head_bytes : align_up(bytes, kStep));
    if (!fields.ok()) return damaged("an object reaches past its end");
    if (number != 0 && number == index) wanted = object.first(static_cast<std::size_t>(bytes));
  }
  if (wanted.size() < 4) return damaged("an object is missing");
  ByteCursor sum(wanted.last(4));
  if (sum.number(4) != metadata_checksum(wanted.first(wanted.size() - 4))) return damaged("an object's checksum");
  ByteCursor mappings(wanted);
  mappings.skip(1);  // the version is for libhdf5 to refuse
  if (const std::uint64_t count = mappings.number(superblock.length_bytes); count > kMappingsLimit)
    return Error(ErrorCode::kUnsupported,
                 fmt::format("a virtual dataset of {} mappings; {} can be read", count, kMappingsLimit));
  return {};
}

}  // namespace headrace::hdf5
