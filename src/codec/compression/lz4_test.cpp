#include <lz4.h>
#include <rapidcheck.h>

#include "codec/codec_testing.h"

namespace headrace {
namespace {

constexpr const char* kLz4Codec = "lz4";

void put_big_endian(Bytes& out, std::uint64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out.push_back(static_cast<std::byte>(value >> shift));
}

Bytes encode(const Bytes& plain, std::size_t block_bytes) {
  Bytes stored;
  put_big_endian(stored, plain.size(), 8);
  put_big_endian(stored, block_bytes, 4);
  for (std::size_t at = 0; at < plain.size(); at += block_bytes) {
    const int size = static_cast<int>(std::min(block_bytes, plain.size() - at));
    std::vector<char> packed(static_cast<std::size_t>(LZ4_compressBound(size)));
    const char* from = reinterpret_cast<const char*>(plain.data() + at);
    int made = LZ4_compress_default(from, packed.data(), size, static_cast<int>(packed.size()));
    if (made >= size) {
      packed.assign(from, from + size);
      made = size;
    }
    put_big_endian(stored, static_cast<std::uint64_t>(made), 4);
    for (int i = 0; i < made; ++i) stored.push_back(static_cast<std::byte>(packed[static_cast<std::size_t>(i)]));
  }
  return stored;
}

TEST(Lz4, RoundTrip) {
  const auto codec = codec_of(kLz4Codec, {});
  EXPECT_TRUE(rc::check("of mixed data in blocks of any size", [&] {
    const auto size = *rc::gen::inRange<std::size_t>(0, 30000);
    const auto block_bytes = *rc::gen::element<std::size_t>(16, 100, 1000, 4096, 1 << 20, 1 << 30);
    const Bytes plain = mixed_bytes(size, static_cast<std::uint32_t>(size));
    const Bytes stored = encode(plain, block_bytes);
    RC_ASSERT(stored.size() <= codec->max_encoded_size(size));
    expect_decodes(*codec, stored, plain);
  }));
}

TEST(Lz4, SurvivesDamage) {
  const Bytes plain = mixed_bytes(800, 5);
  expect_survives_damage(*codec_of(kLz4Codec, {}), encode(plain, 300), plain);
}

TEST(Lz4, BelievesNothingInTheHeader) {
  const auto codec = codec_of(kLz4Codec, {});
  const auto refused = [&](std::uint64_t total, std::uint64_t block, std::uint64_t stored) {
    Bytes bytes;
    put_big_endian(bytes, total, 8);
    put_big_endian(bytes, block, 4);
    put_big_endian(bytes, stored, 4);
    bytes.resize(bytes.size() + 20);
    return expect_refused(*codec, bytes, 1000).message();
  };
  EXPECT_EQ(refused(1000, 0, 0), "the header says blocks of 0 bytes");
  EXPECT_EQ(refused(1001, 100, 0), "the header says 1001 bytes where 1000 are expected");
  EXPECT_EQ(refused(~std::uint64_t{0}, ~std::uint32_t{0}, 0),
            "the header says 18446744073709551615 bytes where 1000 are expected");
  EXPECT_EQ(refused(1000, 100, 0), "damaged block after 0 of 1000 bytes");
  EXPECT_EQ(refused(1000, 100, 0xffffffff), "stream ends after 0 of 1000 bytes");
  EXPECT_EQ(refused(1000, 20, 20), "stream ends after 20 of 1000 bytes");
}

}  // namespace
}  // namespace headrace
