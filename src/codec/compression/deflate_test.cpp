#include <libdeflate.h>
#include <rapidcheck.h>
#include <zlib.h>

#include "codec/codec_testing.h"

namespace headrace {
namespace {

Bytes by_zlib(const Bytes& plain, int level) {
  uLongf size = compressBound(plain.size());
  Bytes stored(size);
  EXPECT_EQ(compress2(reinterpret_cast<Bytef*>(stored.data()), &size, reinterpret_cast<const Bytef*>(plain.data()),
                      plain.size(), level),
            Z_OK);
  stored.resize(size);
  return stored;
}

Bytes by_libdeflate(const Bytes& plain, int level) {
  libdeflate_compressor* compressor = libdeflate_alloc_compressor(level);
  Bytes stored(libdeflate_zlib_compress_bound(compressor, plain.size()));
  stored.resize(libdeflate_zlib_compress(compressor, plain.data(), plain.size(), stored.data(), stored.size()));
  libdeflate_free_compressor(compressor);
  return stored;
}

std::string message(const Error& error) {
  return error.message();
}

TEST(Deflate, DecodesWhatZlibAndLibdeflateWrite) {
  const auto codec = codec_of("deflate", {4});
  EXPECT_EQ(codec->setting(), "4");
  EXPECT_TRUE(rc::check("round trip", [&] {
    const auto size = *rc::gen::inRange<std::size_t>(0, 70000);
    const auto level = *rc::gen::inRange(0, 10);
    const Bytes plain = mixed_bytes(size, static_cast<std::uint32_t>(size));
    const Bytes stored = *rc::gen::arbitrary<bool>() ? by_zlib(plain, level) : by_libdeflate(plain, level);
    RC_ASSERT(stored.size() <= codec->max_encoded_size(size));
    expect_decodes(*codec, stored, plain);
  }));
}

TEST(Deflate, SurvivesDamage) {
  for (const int level : {0, 1, 9}) {
    const Bytes plain = mixed_bytes(700, 3);
    expect_survives_damage(*codec_of("deflate", {}), by_zlib(plain, level), plain);
  }
}

TEST(Deflate, NoticesEveryTruncationAndFlippedBit) {
  const Bytes plain = mixed_bytes(700, 4);
  const Bytes stored = by_zlib(plain, 6);
  const auto codec = codec_of("deflate", {});
  expect_notices_damage(*codec, stored, plain);
}

TEST(Deflate, SaysWhatIsWrong) {
  const auto codec = codec_of("deflate", {});
  const Bytes plain = random_bytes(40000, 1);
  Bytes stored = by_zlib(plain, 0);  // stored blocks of at most 65535 bytes: the position is known exactly
  const std::size_t header = 2 + 5;
  EXPECT_EQ(message(expect_refused(*codec, std::span(stored).first(header + 1000), 40000)),
            "stream ends after 1000 of 40000 bytes");
  EXPECT_EQ(message(expect_refused(*codec, std::span(stored).first(stored.size() - 1), 40000)),
            "stream ends without its checksum after 40000 bytes");
  EXPECT_EQ(message(expect_refused(*codec, stored, 39999)), "stream holds more than the expected 39999 bytes");
  EXPECT_EQ(message(expect_refused(*codec, stored, 0)), "stream holds more than the expected 0 bytes");
  EXPECT_EQ(message(expect_refused(*codec, {}, 40000)), "stream ends after 0 of 40000 bytes");
  stored.back() ^= std::byte{1};
  EXPECT_EQ(message(expect_refused(*codec, stored, 40000)), "adler32 checksum mismatch over 40000 bytes");
  stored[0] = std::byte{0x79};
  EXPECT_EQ(message(expect_refused(*codec, stored, 40000)),
            "damaged stream after 0 of 40000 bytes (incorrect header check)");
  const Bytes dictionary{std::byte{0x78}, std::byte{0xbb}, std::byte{}, std::byte{}, std::byte{}, std::byte{1}};
  EXPECT_EQ(message(expect_refused(*codec, dictionary, 10)),
            "damaged stream after 0 of 10 bytes (a preset dictionary is asked for)");
}

TEST(Deflate, RefusesABomb) {
  const Bytes stored = by_zlib(Bytes(10'000'000), 9);
  EXPECT_LT(stored.size(), 20000u);
  EXPECT_EQ(message(expect_refused(*codec_of("deflate", {}), stored, 4096)),
            "stream holds more than the expected 4096 bytes");
}

TEST(Deflate, FewerBytesThanExpectedAndBytesAfterTheStreamAreNoError) {
  const Bytes plain = mixed_bytes(500, 8);
  Bytes stored = by_zlib(plain, 6);
  stored.resize(stored.size() + 3);
  auto decoded = decode(*codec_of("deflate", {}), stored, 600);
  ASSERT_TRUE(decoded.ok());
  EXPECT_TRUE(*decoded == plain);
}

}  // namespace
}  // namespace headrace
