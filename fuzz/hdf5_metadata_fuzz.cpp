// One structure of an HDF5 file's metadata, with checksums that fit: behind them hdf5_open hardly ever gets.
// An input is ten bytes that say what to read, then the file:
//   0  kind        0 B-tree of version 2, 1 fixed array, 2 extensible array, 3 fractal heap, 4 local heap, 5 old group,
//                  6 newer group, 7 index of chunks
//   1  sizes       bits 0-1: address bytes 2 << n (at most 8); bits 2-3: length bytes
//   2  type        of records; client of entries; kind of index
//   3  bytes       of a record, or of an entry beyond its address; bit 0: filtered
//   4  address     2 bytes, as are those that follow
//   6  second      address: of the heap of names, of the tree of links
//   8  count       of entries
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "format/hdf5/chunks/chunk_arrays.h"
#include "format/hdf5/chunks/extensible_array.h"
#include "format/hdf5/chunks/fixed_array.h"
#include "format/hdf5/structure/checksum.h"
#include "format/hdf5/structure/fractal_heap.h"
#include "format/hdf5/structure/group_check.h"
#include "format/hdf5/structure/local_heap.h"
#include "format/hdf5/structure/tree2.h"
#include "storage/testing/memory_file.h"

namespace headrace::hdf5 {
namespace {

/// Whatever is read ends in its checksum. (A block of a fractal heap with checksums has it elsewhere: seeds have none.)
class SigningFile final : public RandomAccessFile {
 public:
  SigningFile(std::span<const std::byte> bytes, bool is_signed)
      : file_("fuzz.h5", {bytes.begin(), bytes.end()}), is_signed_(is_signed) {}
  const std::string& name() const override { return file_.name(); }
  std::uint64_t size() const override { return file_.size(); }
  Status check_unchanged() const override { return {}; }
  Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    HEADRACE_TRY(file_.read_at(offset, out));
    if (!is_signed_ || out.size() < 4) return {};
    const std::uint32_t sum = metadata_checksum(out.first(out.size() - 4));
    std::memcpy(out.last(4).data(), &sum, 4);
    return {};
  }

 private:
  MemoryFile file_;
  bool is_signed_;
};

void append(std::vector<std::byte>& bytes, std::uint64_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) bytes.push_back(static_cast<std::byte>(value >> 8 * i));
}

void read_one(std::span<const std::byte> data) {
  ByteCursor fields(data);
  const std::uint64_t kind = fields.number(1) % 8, sizes = fields.number(1), type = fields.number(1);
  const std::uint64_t more = fields.number(1), address = fields.number(2), second = fields.number(2);
  const std::uint64_t count = fields.number(2);
  if (!fields.ok()) return;
  const SigningFile file(fields.take(fields.left()), kind != 4 && kind != 5);
  Superblock superblock;
  superblock.address_bytes = static_cast<unsigned>(std::min<std::uint64_t>(8, 2ULL << (sizes & 3)));
  superblock.length_bytes = static_cast<unsigned>(std::min<std::uint64_t>(8, 2ULL << (sizes >> 2 & 3)));
  const ArrayEntries entries{type & 1, superblock.address_bytes + more % 13};
  const TakeEntry take = [&](std::uint64_t, std::span<const std::byte> entry) {
    if (entry.size() != entries.entry_bytes) __builtin_trap();
    return Status();
  };
  if (kind == 0) {
    (void)read_tree2(file, superblock, address, {type, more + 1}, file.size(), [&](std::span<const std::byte> record) {
      if (record.size() != more + 1) __builtin_trap();
      return Status();
    });
  } else if (kind == 1) {
    (void)read_fixed_array(file, superblock, address, entries, count, count, take);
  } else if (kind == 2) {
    (void)read_extensible_array(file, superblock, address, entries, count, take);
  } else if (kind == 3) {
    const auto heap = FractalHeap::read(file, superblock, address);
    for (std::size_t at = 10; heap.ok() && at + heap->id_bytes() <= std::min<std::size_t>(data.size(), 200); ++at)
      (void)heap->object(data.subspan(at, static_cast<std::size_t>(heap->id_bytes())));
  } else if (kind == 4) {
    const auto heap = LocalHeap::read(file, superblock, address);
    if (heap.ok() && heap->has_text(second)) (void)heap->text(second);
  } else if (kind == 7) {
    ChunkLayout layout;
    layout.index = static_cast<ChunkIndexKind>(1 + type % 5);
    layout.address = address;
    const std::uint64_t most = (more & 2) != 0 ? ChunkGrid::kUnlimited : second;
    const ChunkGrid grid{
        {count & 0xFF, count >> 8}, {most, (more & 4) != 0 ? ChunkGrid::kUnlimited : count}, second, (more & 1) != 0};
    (void)read_chunk_array(file, superblock, layout, grid, [](std::uint64_t, const ChunkPlace&) { return Status(); });
  } else {
    HeaderMessage message;
    message.type = static_cast<std::uint16_t>(kind == 5 ? MessageType::kSymbolTable : MessageType::kLinkInfo);
    if (kind == 6) append(message.bytes, (more & 2) << 8, 2);
    append(message.bytes, address, superblock.address_bytes);
    append(message.bytes, second, superblock.address_bytes);
    if (kind == 6) append(message.bytes, count, superblock.address_bytes);
    (void)check_group(file, superblock, {message});
  }
}

}  // namespace
}  // namespace headrace::hdf5

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  headrace::hdf5::read_one(std::as_bytes(std::span(data, size)));
  return 0;
}
