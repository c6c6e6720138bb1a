#include "format/hdf5/structure/checksum.h"

#include <bit>

namespace headrace::hdf5 {
namespace {

/// Up to 4 bytes, little-endian.
std::uint32_t word(std::span<const std::byte> bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4 && at + i < bytes.size(); ++i)
    value |= std::to_integer<std::uint32_t>(bytes[at + i]) << (8 * i);
  return value;
}

}  // namespace

std::uint32_t metadata_checksum(std::span<const std::byte> bytes) {
  std::uint32_t a = 0xDEADBEEFU + static_cast<std::uint32_t>(bytes.size()), b = a, c = a;
  const auto add = [&] { a += word(bytes, 0), b += word(bytes, 4), c += word(bytes, 8); };
  const auto mix = [](std::uint32_t& x, std::uint32_t& y, std::uint32_t& z, int turn) {
    x = (x - z) ^ std::rotl(z, turn);
    z += y;
  };
  const auto finish = [](std::uint32_t& x, std::uint32_t y, int turn) { x = (x ^ y) - std::rotl(y, turn); };
  for (; bytes.size() > 12; bytes = bytes.subspan(12)) {
    add();
    mix(a, b, c, 4), mix(b, c, a, 6), mix(c, a, b, 8);
    mix(a, b, c, 16), mix(b, c, a, 19), mix(c, a, b, 4);
  }
  if (bytes.empty()) return c;
  add();
  finish(c, b, 14), finish(a, c, 11), finish(b, a, 25);
  finish(c, b, 16), finish(a, c, 4), finish(b, a, 14), finish(c, b, 24);
  return c;
}

}  // namespace headrace::hdf5
