#include "format/hdf5/fixed_array_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "format/hdf5/object_header.h"

namespace headrace::hdf5 {

Status check_fixed_array(const RandomAccessFile& file, const Superblock& superblock, std::uint64_t address,
                         std::uint64_t most_chunks, std::uint64_t chunk_bytes) {
  const auto damaged = [&](std::string why) {
    return std::move(Error(ErrorCode::kCorruptData, "the chunk index is damaged: " + std::move(why))
                         .with_stage("index")
                         .with_bytes({address, 0}));
  };
  std::uint64_t at = 0;
  const std::size_t head_bytes = 8 + superblock.length_bytes + superblock.address_bytes;
  if (__builtin_add_overflow(address, superblock.at, &at) || at > file.size() || head_bytes > file.size() - at)
    return damaged(fmt::format("it lies at {} in a file of {} bytes", address, file.size()));
  std::vector<std::byte> head(head_bytes);
  HEADRACE_TRY(file.read_at(at, head));
  if (std::memcmp(head.data(), "FAHD", 4) != 0) return damaged("no fixed array where its address says");
  ByteCursor fields(head);
  fields.skip(5);  // signature, version
  const std::uint64_t filtered = fields.number(1), entry_bytes = fields.number(1);
  fields.skip(1);
  const std::uint64_t entries = fields.number(superblock.length_bytes);
  // Of a filtered chunk: address, stored size in one byte more than the chunk's own needs, mask.
  const std::uint64_t size_bytes = std::min<std::uint64_t>(8, 1 + (std::bit_width(chunk_bytes) - 1 + 8) / 8);
  const std::uint64_t expected = superblock.address_bytes + (filtered != 0 ? size_bytes + 4 : 0);
  if (filtered > 1 || entry_bytes != expected)
    return damaged(fmt::format("entries of {} bytes, {} expected", entry_bytes, expected));
  if (entries != most_chunks) return damaged(fmt::format("{} entries for {} chunks", entries, most_chunks));
  return {};
}

}  // namespace headrace::hdf5
