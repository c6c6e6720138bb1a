#include "format/hdf5/structure/superblock.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

namespace headrace::hdf5 {
namespace {

constexpr std::array<unsigned char, 8> kSignature{0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
constexpr std::size_t kLongest = 24 + 4 + 6 * 8;  // version 1 up to the root group, 8-byte addresses

std::uint64_t little_endian(std::span<const unsigned char> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | bytes[i];
  return value;
}

Superblock parse(std::uint64_t at, std::span<const unsigned char> bytes) {
  Superblock sb;
  sb.at = at;
  if (bytes.size() < 16) return sb;
  sb.version = bytes[8];
  // Version 0 and 1: counts of versions and B-tree sizes first; then base, free-space, end-of-file addresses.
  // Version 2 and 3: base, extension, end-of-file addresses.
  const bool old = sb.version < 2;
  const std::size_t address_bytes = old ? bytes[13] : bytes[9];
  const std::size_t base_at = sb.version == 0 ? 24 : sb.version == 1 ? 28 : 12;
  const std::size_t length_bytes = old ? bytes[14] : bytes[10];
  const bool sane_length = length_bytes == 2 || length_bytes == 4 || length_bytes == 8;
  const bool sane = sane_length && (address_bytes == 2 || address_bytes == 4 || address_bytes == 8);
  if (sb.version > 3 || !sane || bytes.size() < base_at + (old ? 5 * address_bytes + length_bytes : 4 * address_bytes))
    return sb;
  const std::uint64_t base = little_endian(bytes.subspan(base_at, address_bytes));
  const std::uint64_t end = little_endian(bytes.subspan(base_at + 2 * address_bytes, address_bytes));
  sb.understood = true;
  sb.address_bytes = static_cast<unsigned>(address_bytes);
  sb.length_bytes = static_cast<unsigned>(length_bytes);
  // Version 0 and 1 end in a symbol table entry: the offset of a name, then the address.
  sb.extension_address =
      old ? sb.undefined_address() : little_endian(bytes.subspan(base_at + address_bytes, address_bytes));
  const std::size_t root_at = old ? base_at + 4 * address_bytes + length_bytes : base_at + 3 * address_bytes;
  sb.root_address = little_endian(bytes.subspan(root_at, address_bytes));
  sb.being_written = sb.version == 3 && (bytes[11] & 0x5) != 0;  // bit 0: open for writing, bit 2: SWMR
  // The end is absolute. Where a user block was put in front later, libhdf5 shifts both base and end by it.
  sb.end_bytes = end + (at - base);  // wraps to the right value when base == at; damage shows as nonsense below
  if (at < base || sb.end_bytes < end) sb.end_bytes = end;
  return sb;
}

}  // namespace

Result<std::optional<Superblock>> read_superblock(const RandomAccessFile& file) {
  std::array<unsigned char, kLongest> buffer{};
  for (std::uint64_t at = 0; at + kSignature.size() <= file.size(); at = at == 0 ? 512 : at * 2) {
    const std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), file.size() - at));
    HEADRACE_TRY(file.read_at(at, std::as_writable_bytes(std::span(buffer).first(n))));
    if (std::equal(kSignature.begin(), kSignature.end(), buffer.begin()))
      return std::optional(parse(at, std::span(buffer).first(n)));
    if (at > (std::uint64_t{1} << 62)) break;
  }
  return std::optional<Superblock>();
}

}  // namespace headrace::hdf5
