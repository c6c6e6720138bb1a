#include "format/hdf5/chunks/fixed_array.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "format/hdf5/chunks/chunk_place.h"
#include "format/hdf5/structure/metadata_block.h"
#include "format/hdf5/structure/object_header.h"

namespace headrace::hdf5 {

Status read_fixed_array(const RandomAccessFile& file, const Superblock& superblock, std::uint64_t address,
                        const ArrayEntries& expected, std::uint64_t most, std::uint64_t end, const TakeEntry& take) {
  const std::uint64_t address_bytes = superblock.address_bytes;
  HEADRACE_ASSIGN(const std::vector<std::byte> head,
                  read_signed(file, superblock, address, 8 + superblock.length_bytes + address_bytes + 4, "FAHD"));
  ByteCursor fields(head);
  fields.skip(4);
  const std::uint64_t version = fields.number(1), client = fields.number(1), entry_bytes = fields.number(1);
  const std::uint64_t page_bits = fields.number(1), entries = fields.number(superblock.length_bytes);
  const std::uint64_t block = fields.number(superblock.address_bytes);
  if (version != 0 || client != expected.client || entry_bytes != expected.entry_bytes)
    return index_damaged(fmt::format("entries of {} bytes, {} expected", entry_bytes, expected.entry_bytes));
  if (entries != most) return index_damaged(fmt::format("{} entries for {} chunks", entries, most));
  if (page_bits > 40) return index_damaged(fmt::format("pages of 2^{} entries", page_bits));
  if (block == superblock.undefined_address()) return {};

  const std::uint64_t page_entries = std::uint64_t{1} << page_bits;
  const bool paged = entries > page_entries;
  const std::uint64_t pages = paged ? entries / page_entries + (entries % page_entries != 0) : 1;
  const std::uint64_t map_bytes = paged ? pages / 8 + (pages % 8 != 0) : 0;
  std::uint64_t prefix_bytes = 6 + address_bytes + map_bytes;
  const std::uint64_t all_bytes = paged ? 0 : std::min(entries, kMetadataLimitBytes) * entry_bytes;
  HEADRACE_ASSIGN(const std::vector<std::byte> prefix,
                  read_signed(file, superblock, block, prefix_bytes + all_bytes + 4, "FADB"));
  ByteCursor inside(prefix);
  inside.skip(4);
  if (inside.number(1) != 0 || inside.number(1) != client || inside.number(superblock.address_bytes) != address)
    return index_damaged("a block of another array");
  const std::span<const std::byte> map = inside.take(map_bytes);
  if (!paged) {
    for (std::uint64_t i = 0; i < std::min(end, entries); ++i) HEADRACE_TRY(take(i, inside.take(entry_bytes)));
    return {};
  }
  prefix_bytes += 4;
  if (page_entries > kMetadataLimitBytes / entry_bytes)
    return index_damaged(fmt::format("pages of {} entries", page_entries));
  const std::uint64_t page_bytes = page_entries * entry_bytes + 4;
  for (std::uint64_t p = 0, first = 0; p < pages && first < end; ++p, first += page_entries) {
    if ((std::to_integer<unsigned>(map[static_cast<std::size_t>(p / 8)]) & (0x80U >> p % 8)) == 0) continue;
    const std::uint64_t count = std::min(page_entries, entries - first);
    std::uint64_t at = 0;
    if (__builtin_mul_overflow(p, page_bytes, &at) || __builtin_add_overflow(at, block + prefix_bytes, &at))
      return index_damaged("a page beyond the end of all files");
    HEADRACE_ASSIGN(const std::vector<std::byte> page, read_signed(file, superblock, at, count * entry_bytes + 4, ""));
    ByteCursor values(page);
    for (std::uint64_t i = first; i < std::min(end, first + count); ++i)
      HEADRACE_TRY(take(i, values.take(entry_bytes)));
  }
  return {};
}

}  // namespace headrace::hdf5
