#include "format/hdf5/structure/metadata_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "format/hdf5/structure/checksum.h"
#include "format/hdf5/structure/object_header.h"

namespace headrace::hdf5 {
namespace {

/// \param at  In the file, user block included: what a reader of the message looks for.
Error metadata_damaged(std::string why, std::uint64_t at, std::uint64_t size) {
  return Error(ErrorCode::kCorruptData, "the file's metadata is damaged: " + std::move(why)).with_bytes({at, size});
}

}  // namespace

Result<std::vector<std::byte>> read_metadata(const RandomAccessFile& file, const Superblock& superblock,
                                             std::uint64_t address, std::uint64_t size) {
  std::uint64_t at = 0;
  if (__builtin_add_overflow(address, superblock.at, &at) || at > file.size() || size > file.size() - at)
    return metadata_damaged(fmt::format("{} bytes at {} in a file of {}", size, address, file.size()), at, 0);
  if (size > kMetadataLimitBytes)  // the file has them, so it may well be sound
    return Error(ErrorCode::kUnsupported, fmt::format("a block of {} bytes of metadata, of which {} are read "
                                                      "at most",
                                                      size, kMetadataLimitBytes))
        .with_bytes({at, size});
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  HEADRACE_TRY(file.read_at(at, bytes));
  return bytes;
}

Result<std::vector<std::byte>> read_signed(const RandomAccessFile& file, const Superblock& superblock,
                                           std::uint64_t address, std::uint64_t size, std::string_view signature) {
  HEADRACE_ASSIGN(std::vector<std::byte> bytes, read_metadata(file, superblock, address, size));
  if (size < signature.size() + 4 || std::memcmp(bytes.data(), signature.data(), signature.size()) != 0)
    return metadata_damaged(fmt::format("no {} at {}", signature, address), address + superblock.at, size);
  const std::span<const std::byte> all(bytes);
  if (ByteCursor(all.last(4)).number(4) != metadata_checksum(all.first(all.size() - 4)))
    return metadata_damaged(fmt::format("the checksum of {} bytes at {}", size, address), address + superblock.at,
                            size);
  bytes.resize(bytes.size() - 4);
  return bytes;
}

std::size_t bytes_for(std::uint64_t most) {
  return static_cast<std::size_t>(most == 0 ? 1 : (std::bit_width(most) - 1) / 8 + 1);
}

}  // namespace headrace::hdf5
