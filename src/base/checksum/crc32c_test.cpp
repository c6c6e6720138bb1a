#include "base/checksum/crc32c.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "base/random/philox.h"

namespace headrace {
namespace {

using Bytes = std::vector<std::byte>;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

Bytes noise(std::size_t size) {
  Bytes out(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::byte>(RandomKey::of({7, i}).low & 0xFF);
  return out;
}

// RFC 3720, appendix B.4, and the check value of the catalogue of CRCs.
TEST(Crc32c, KnownValues) {
  Bytes rising(32), falling(32);
  for (std::size_t i = 0; i < 32; ++i) {
    rising[i] = static_cast<std::byte>(i);
    falling[i] = static_cast<std::byte>(31 - i);
  }
  for (const auto crc : {crc32c, crc32c_portable}) {
    EXPECT_EQ(crc(bytes_of(""), 0), 0u);
    EXPECT_EQ(crc(bytes_of("123456789"), 0), 0xE3069283u);
    EXPECT_EQ(crc(Bytes(32), 0), 0x8A9136AAu);
    EXPECT_EQ(crc(Bytes(32, std::byte{0xFF}), 0), 0x62A8AB43u);
    EXPECT_EQ(crc(rising, 0), 0x46DD794Eu);
    EXPECT_EQ(crc(falling, 0), 0x113FDB5Cu);
  }
}

TEST(Crc32c, InstructionAndTablesAgreeAtEveryLengthAndAlignment) {
  const Bytes data = noise(3 * 3 * 8192 + 100);
  const std::span<const std::byte> all(data);
  for (std::size_t length = 0; length < 300; ++length)
    for (std::size_t start = 0; start < 9; ++start)
      ASSERT_EQ(crc32c(all.subspan(start, length)), crc32c_portable(all.subspan(start, length))) << start << length;
  for (std::size_t length = 3 * 8192 - 20; length < data.size() - 10; length += 1021)
    ASSERT_EQ(crc32c(all.subspan(3, length), 99), crc32c_portable(all.subspan(3, length), 99)) << length;
}

TEST(Crc32c, PiecesMakeTheWhole) {
  const Bytes data = noise(60000);
  const std::span<const std::byte> all(data);
  const std::uint32_t whole = crc32c(all);
  for (const std::size_t cut : {0, 1, 7, 64, 8192, 24576, 59999, 60000}) {
    EXPECT_EQ(crc32c(all.subspan(cut), crc32c(all.first(cut))), whole);
    EXPECT_EQ(crc32c_combine(crc32c(all.first(cut)), crc32c(all.subspan(cut)), data.size() - cut), whole);
  }
  // Past 2^32 bytes, where the powers of x come around: zeros joined by halves.
  std::uint32_t zeros = crc32c(Bytes(1));
  std::uint64_t size = 1;
  for (; size < std::uint64_t{1} << 40; size *= 2) zeros = crc32c_combine(zeros, zeros, size);
  std::uint32_t other = crc32c(Bytes(4096));
  for (size = 4096; size < std::uint64_t{1} << 40; size *= 2) other = crc32c_combine(other, other, size);
  EXPECT_EQ(zeros, other);
}

}  // namespace
}  // namespace headrace
