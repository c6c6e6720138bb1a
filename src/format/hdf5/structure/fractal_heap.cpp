#include "format/hdf5/structure/fractal_heap.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "format/hdf5/structure/checksum.h"
#include "format/hdf5/structure/metadata_block.h"
#include "format/hdf5/structure/object_header.h"
#include "format/hdf5/structure/tree2.h"

namespace headrace::hdf5 {
namespace {

// What the first byte of an identifier says of its object.
constexpr std::uint64_t kManaged = 0x00, kHuge = 0x10, kTiny = 0x20;
constexpr std::uint64_t kTinyIdBytes = 17;              // up to these, tiny objects say their size in 4 bits
constexpr std::uint64_t kObjectLimitBytes = 128 << 10;  // of a link, whose name is at most 64 KiB

Error fractal_heap_damaged(std::string why) {
  return Error(ErrorCode::kCorruptData, "a fractal heap is damaged: " + std::move(why));
}

std::uint64_t log2_of(std::uint64_t n) {
  return static_cast<std::uint64_t>(std::bit_width(n) - 1);
}

}  // namespace

Result<FractalHeap> FractalHeap::read(const RandomAccessFile& file, const Superblock& superblock,
                                      std::uint64_t address) {
  FractalHeap heap(file, superblock, address);
  HEADRACE_TRY(heap.read_header());
  return heap;
}

// The heap's space is a line of direct blocks, in rows of as many as the table is wide. Those of the first two rows are
// as small as blocks get, and from there each row has blocks of twice the size. Past the size of the largest direct
// block, rows hold indirect blocks: the addresses of the same rows once more.
Status FractalHeap::read_header() {
  const std::uint64_t length = superblock_.length_bytes, address = superblock_.address_bytes;
  const std::uint64_t size = 22 + 12 * length + 3 * address + 4;
  HEADRACE_ASSIGN(const std::vector<std::byte> plain, read_metadata(file_, superblock_, address_, size));
  ByteCursor fields(plain);
  fields.skip(4);
  const std::uint64_t version = fields.number(1);
  id_bytes_ = fields.number(2);
  const std::uint64_t filter_bytes = fields.number(2), flags = fields.number(1);
  // For filters the header has the size of the root block, the filters that were skipped, and what they are.
  const std::uint64_t filtered = filter_bytes == 0 ? 0 : length + 4 + filter_bytes;
  HEADRACE_TRY(read_signed(file_, superblock_, address_, size + filtered, "FRHP"));
  if (filter_bytes != 0)
    return Error(ErrorCode::kUnsupported, "its links are kept in a heap with filters")
        .with_hint("Copy the file with h5repack.");
  const std::uint64_t most_managed = fields.number(4);
  fields.skip(length);
  const std::uint64_t huge_tree = fields.number(address);
  fields.skip(length + address + 8 * length);
  width_ = fields.number(2), start_ = fields.number(length), most_direct_ = fields.number(length);
  most_bits_ = fields.number(2);
  fields.skip(2);
  const std::uint64_t root = fields.number(address), rows = fields.number(2);
  const bool powers = std::has_single_bit(width_) && std::has_single_bit(start_) && std::has_single_bit(most_direct_);
  if (version != 0 || !powers || start_ < 64 || most_direct_ < start_ || most_direct_ > (1U << 30) || most_bits_ > 60 ||
      most_bits_ < log2_of(most_direct_) || most_managed == 0 || id_bytes_ < 4 || id_bytes_ > 64)
    return fractal_heap_damaged("its header");
  has_checksums_ = (flags & 2) != 0;
  offset_bytes_ = (most_bits_ + 7) / 8;
  length_bytes_ = std::min<std::uint64_t>((log2_of(most_direct_) + 7) / 8, bytes_for(most_managed));
  if (1 + offset_bytes_ + length_bytes_ > id_bytes_) return fractal_heap_damaged("its header");
  direct_huge_ = address + length < id_bytes_;  // short enough: identifiers have the place itself
  if (!direct_huge_ && huge_tree != superblock_.undefined_address()) HEADRACE_TRY(read_huge(huge_tree));
  if (root == superblock_.undefined_address()) return {};
  return rows == 0 ? visit_direct(root, 0, start_) : visit_indirect(root, 0, rows);
}

// Objects too large for a block lie in the file by themselves, and a B-tree has their places.
Status FractalHeap::read_huge(std::uint64_t tree) {
  const std::uint64_t record = superblock_.address_bytes + 2 * superblock_.length_bytes;
  return read_tree2(file_, superblock_, tree, {1, record}, file_.size(), [&](std::span<const std::byte> bytes) {
    ByteCursor fields(bytes);
    const std::uint64_t address = fields.number(superblock_.address_bytes);
    const std::uint64_t size = fields.number(superblock_.length_bytes);
    huge_[fields.number(superblock_.length_bytes)] = {address, size};
    return Status();
  });
}

Status FractalHeap::check_prefix(std::span<const std::byte> block, const char* signature, std::uint64_t offset) const {
  ByteCursor fields(block);
  const bool is_signed = std::memcmp(fields.take(4).data(), signature, 4) == 0;
  if (!is_signed || fields.number(1) != 0 || fields.number(superblock_.address_bytes) != address_ ||
      fields.number(static_cast<std::size_t>(offset_bytes_)) != offset)
    return fractal_heap_damaged(fmt::format("no block of its own where {} is to be", offset));
  return {};
}

// Blocks of a sound heap do not overlap, so all of them take no more than the file has.
Status FractalHeap::count(std::uint64_t block, std::uint64_t size) {
  if (!seen_.insert(block).second) return fractal_heap_damaged("a block is met twice");
  if (size > file_.size() || (all_bytes_ += size) > file_.size()) return fractal_heap_damaged("its blocks overlap");
  return {};
}

Status FractalHeap::visit_direct(std::uint64_t block, std::uint64_t offset, std::uint64_t size) {
  HEADRACE_TRY(count(block, size));
  HEADRACE_ASSIGN(std::vector<std::byte> bytes, read_metadata(file_, superblock_, block, size));
  HEADRACE_TRY(check_prefix(bytes, "FHDB", offset));
  if (has_checksums_) {  // counted with zeros in its own place
    const std::size_t at = 5 + superblock_.address_bytes + static_cast<std::size_t>(offset_bytes_);
    const std::span<std::byte> stored = std::span(bytes).subspan(at, 4);
    const std::uint64_t sum = ByteCursor(stored).number(4);
    std::ranges::fill(stored, std::byte{0});
    if (sum != metadata_checksum(bytes)) return fractal_heap_damaged("the checksum of a block");
  }
  blocks_[offset] = {block, size};
  return {};
}

Status FractalHeap::visit_indirect(std::uint64_t block, std::uint64_t offset, std::uint64_t rows) {
  const std::uint64_t direct_rows = log2_of(most_direct_) - log2_of(start_) + 2;
  const std::uint64_t first_bits = log2_of(start_) + log2_of(width_);
  if (rows == 0 || rows > most_bits_ + 1 || rows - 1 + first_bits > most_bits_)
    return fractal_heap_damaged("too many rows");
  const std::uint64_t prefix = 5 + superblock_.address_bytes + offset_bytes_;
  const std::uint64_t size = prefix + rows * width_ * superblock_.address_bytes + 4;
  HEADRACE_TRY(count(block, size));
  HEADRACE_ASSIGN(const std::vector<std::byte> bytes, read_signed(file_, superblock_, block, size, "FHIB"));
  HEADRACE_TRY(check_prefix(bytes, "FHIB", offset));
  ByteCursor children(std::span<const std::byte>(bytes).subspan(static_cast<std::size_t>(prefix)));
  for (std::uint64_t row = 0; row < rows; ++row) {
    for (std::uint64_t i = 0; i < width_; ++i, offset += row_bytes(row)) {
      const std::uint64_t child = children.number(superblock_.address_bytes);
      if (child == superblock_.undefined_address()) continue;
      if (row < direct_rows) {
        HEADRACE_TRY(visit_direct(child, offset, row_bytes(row)));
      } else {
        if (log2_of(row_bytes(row)) < first_bits) return fractal_heap_damaged("an indirect block without rows");
        HEADRACE_TRY(visit_indirect(child, offset, log2_of(row_bytes(row)) - first_bits + 1));
      }
    }
  }
  return {};
}

Result<std::vector<std::byte>> FractalHeap::object(std::span<const std::byte> id) const {
  ByteCursor fields(id);
  const std::uint64_t kind = fields.number(1);
  if (kind == kHuge) {
    std::pair<std::uint64_t, std::uint64_t> place;  // address and size
    if (direct_huge_) {
      place.first = fields.number(superblock_.address_bytes), place.second = fields.number(superblock_.length_bytes);
    } else {
      const auto found = huge_.find(fields.number(static_cast<std::size_t>(std::min<std::uint64_t>(id_bytes_ - 1, 8))));
      if (found == huge_.end()) return fractal_heap_damaged("a large object is missing");
      place = found->second;
    }
    if (!fields.ok() || place.second > kObjectLimitBytes) return fractal_heap_damaged("an object of absurd size");
    return read_metadata(file_, superblock_, place.first, place.second);
  }
  if ((kind & 0xF0) == kTiny) {  // the object itself; of longer identifiers a second byte would be of its size
    const std::span<const std::byte> all = fields.take((kind & 0x0F) + 1);
    if (!fields.ok() || id_bytes_ > kTinyIdBytes) return fractal_heap_damaged("an object outside its identifier");
    return std::vector<std::byte>(all.begin(), all.end());
  }
  const std::uint64_t offset = fields.number(static_cast<std::size_t>(offset_bytes_));
  const std::uint64_t length = fields.number(static_cast<std::size_t>(length_bytes_));
  auto next = blocks_.upper_bound(offset);
  if (kind != kManaged || !fields.ok() || next == blocks_.begin())
    return fractal_heap_damaged("an object of no kind, or nowhere");
  const auto& [begin, block] = *--next;
  const std::uint64_t prefix = 5 + superblock_.address_bytes + offset_bytes_ + (has_checksums_ ? 4 : 0);
  const std::uint64_t at = offset - begin;
  if (at < prefix || at > block.second || length == 0 || length > kObjectLimitBytes || length > block.second - at)
    return fractal_heap_damaged("an object outside its block");
  return read_metadata(file_, superblock_, block.first + at, length);
}

}  // namespace headrace::hdf5
