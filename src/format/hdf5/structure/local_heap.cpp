#include "format/hdf5/structure/local_heap.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "format/hdf5/structure/metadata_block.h"
#include "format/hdf5/structure/object_header.h"

namespace headrace::hdf5 {
namespace {

Error local_heap_damaged(std::string why) {
  return Error(ErrorCode::kCorruptData, "a local heap is damaged: " + std::move(why));
}

}  // namespace

Result<LocalHeap> LocalHeap::read(const RandomAccessFile& file, const Superblock& superblock, std::uint64_t address) {
  const unsigned length = superblock.length_bytes;
  HEADRACE_ASSIGN(const std::vector<std::byte> head,
                  read_metadata(file, superblock, address, 8 + 2 * length + superblock.address_bytes));
  if (std::memcmp(head.data(), "HEAP", 4) != 0) return local_heap_damaged("no signature");
  ByteCursor fields(head);
  fields.skip(8);
  const std::uint64_t size = fields.number(length);
  std::uint64_t block = fields.number(length);
  LocalHeap heap;
  HEADRACE_ASSIGN(heap.data_, read_metadata(file, superblock, fields.number(superblock.address_bytes), size));
  // Its free blocks form a list: one that runs in circles would have libhdf5 allocate for ever. They do not overlap,
  // and none is smaller than what it says of itself.
  const std::uint64_t none = 1;  // H5HL_FREE_NULL
  std::uint64_t most = size / (2 * length);
  for (; block != none; --most) {
    if (block > size || size - block < 2 * length || most == 0)
      return local_heap_damaged("its free list leads nowhere");
    ByteCursor entry(std::span<const std::byte>(heap.data_).subspan(static_cast<std::size_t>(block)));
    const std::uint64_t next = entry.number(length), bytes = entry.number(length);
    if (bytes > size - block) return local_heap_damaged("a free block reaches past it");
    block = next;
  }
  const auto last = std::find(heap.data_.rbegin(), heap.data_.rend(), std::byte{0});
  heap.text_end_ = static_cast<std::uint64_t>(heap.data_.rend() - last);
  return heap;
}

std::string_view LocalHeap::text(std::uint64_t offset) const {
  return reinterpret_cast<const char*>(data_.data()) + offset;
}

}  // namespace headrace::hdf5
