#include "base/checksum/crc32c.h"
#include "codec/codec_testing.h"

namespace headrace {
namespace {

Bytes with_crc(const Bytes& plain) {
  Bytes stored = plain;
  const std::uint32_t sum = crc32c(plain);
  for (int shift = 0; shift < 32; shift += 8) stored.push_back(static_cast<std::byte>(sum >> shift));
  return stored;
}

TEST(Crc32cSuffix, TakesTheSumOffAndChecksIt) {
  const auto codec = codec_of("crc32c", {});
  for (const std::size_t size : {0, 1, 9, 70'000}) {
    const Bytes plain = random_bytes(size, 3);
    EXPECT_EQ(codec->encoded_size(size), size + 4);
    expect_decodes(*codec, with_crc(plain), plain);
  }
  // The sum of "123456789" that the RFC's polynomial gives.
  Bytes digits;
  for (char c = '1'; c <= '9'; ++c) digits.push_back(static_cast<std::byte>(c));
  EXPECT_EQ(with_crc(digits)[9], std::byte{0x83});
}

TEST(Crc32cSuffix, RefusesEveryFlippedBit) {
  const auto codec = codec_of("crc32c", {});
  Bytes stored = with_crc(random_bytes(33, 5));
  for (std::size_t bit = 0; bit < stored.size() * 8; ++bit) {
    stored[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    Bytes out(stored.size());
    EXPECT_EQ(codec->decode(stored, out).error().code(), ErrorCode::kCorruptData);
    stored[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
  }
  Bytes out(8);
  EXPECT_EQ(codec->decode(std::span(stored).first(3), out).error().code(), ErrorCode::kCorruptData);
  EXPECT_EQ(codec->decode(stored, out).error().code(), ErrorCode::kCorruptData) << "more than there is room for";
}

}  // namespace
}  // namespace headrace
