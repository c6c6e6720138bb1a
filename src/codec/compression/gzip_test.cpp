#include <libdeflate.h>
#include <rapidcheck.h>
#include <zlib.h>

#include "codec/codec_testing.h"

namespace headrace {
namespace {

Bytes gzip_member(const Bytes& plain, int level = 6) {
  libdeflate_compressor* compressor = libdeflate_alloc_compressor(level);
  Bytes stored(libdeflate_gzip_compress_bound(compressor, plain.size()));
  stored.resize(libdeflate_gzip_compress(compressor, plain.data(), plain.size(), stored.data(), stored.size()));
  libdeflate_free_compressor(compressor);
  return stored;
}

/// zlib writes a stream of either kind: 15 bits of window, and 16 more for gzip.
Bytes by_zlib_stream(const Bytes& plain, int level, int window_bits) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, level, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
  Bytes stored(deflateBound(&stream, plain.size()));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(stored.data());
  stream.avail_out = static_cast<uInt>(stored.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  stored.resize(stream.total_out);
  deflateEnd(&stream);
  return stored;
}

Bytes appended(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(Gzip, RoundTrip) {
  const auto codec = codec_of("gzip", {});
  EXPECT_TRUE(rc::check("of what libdeflate and zlib write", [&] {
    const auto size = *rc::gen::inRange<std::size_t>(0, 70'000);
    const auto level = *rc::gen::inRange(0, 10);
    const Bytes plain = mixed_bytes(size, static_cast<std::uint32_t>(size));
    for (const Bytes& stored : {gzip_member(plain, level), by_zlib_stream(plain, level, MAX_WBITS + 16),
                                by_zlib_stream(plain, level, MAX_WBITS)}) {
      RC_ASSERT(stored.size() <= codec->max_encoded_size(size));
      expect_decodes(*codec, stored, plain);
    }
  }));
}

TEST(Gzip, SeveralMembersAreOneStream) {
  const auto codec = codec_of("gzip", {});
  const Bytes a = mixed_bytes(700, 1), b = mixed_bytes(40'000, 2);
  expect_decodes(*codec, appended(gzip_member(a), gzip_member(b)), appended(a, b));
  expect_decodes(*codec, appended(appended(gzip_member({}), gzip_member(a)), gzip_member({})), a);
  expect_decodes(*codec, gzip_member({}), {});
  EXPECT_EQ(codec->decode(gzip_member({}), {}).value(), 0u) << "an output that is a null pointer";
}

TEST(Gzip, SurvivesDamage) {
  const auto codec = codec_of("gzip", {});
  const Bytes plain = mixed_bytes(700, 3);
  for (const int level : {0, 1, 9}) expect_survives_damage(*codec, gzip_member(plain, level), plain);
  expect_survives_damage(*codec, by_zlib_stream(plain, 6, MAX_WBITS), plain);
  expect_survives_damage(*codec, appended(gzip_member(plain), gzip_member(plain)), appended(plain, plain));
}

TEST(Gzip, NoticesEveryTruncationAndFlippedBit) {
  const auto codec = codec_of("gzip", {});
  const Bytes plain = mixed_bytes(700, 4), stored = gzip_member(plain);
  expect_notices_damage(*codec, stored, plain);
  expect_notices_damage(*codec, by_zlib_stream(plain, 6, MAX_WBITS), plain);
}

TEST(Gzip, SaysWhatIsWrong) {
  const auto codec = codec_of("gzip", {});
  const auto message = [&](std::span<const std::byte> bytes, std::size_t size) {
    return expect_refused(*codec, bytes, size).message();
  };
  const Bytes plain = random_bytes(40'000, 1);
  Bytes stored = by_zlib_stream(plain, 0, MAX_WBITS + 16);  // one stored block: the position is known exactly
  EXPECT_EQ(message(std::span(stored).first(10 + 5 + 1000), 40'000), "stream ends after 1000 of 40000 bytes");
  EXPECT_EQ(message(std::span(stored).first(stored.size() - 1), 40'000),
            "stream ends without its checksum after 40000 bytes");
  EXPECT_EQ(message(stored, 39'999), "stream holds more than the expected 39999 bytes");
  EXPECT_EQ(message(stored, 0), "stream holds more than the expected 0 bytes");
  EXPECT_EQ(message({}, 40'000), "stream ends after 0 of 40000 bytes");
  EXPECT_EQ(message(appended(stored, Bytes(3)), 40'000),
            "3 bytes behind the end of the stream, which holds 40000 bytes");
  EXPECT_EQ(message(appended(by_zlib_stream(plain, 1, MAX_WBITS), stored), 90'000).substr(0, 5), "40023");
  Bytes second = stored;
  second[second.size() - 8] ^= std::byte{1};
  EXPECT_EQ(message(appended(stored, second), 80'000),
            "gzip member 2, at byte " + std::to_string(stored.size()) + ": CRC-32 checksum mismatch over 40000 bytes");
  EXPECT_EQ(message(appended(stored, stored), 79'999), "stream holds more than the expected 79999 bytes");
  stored.back() ^= std::byte{1};
  EXPECT_EQ(message(stored, 40'000), "damaged stream after 40000 of 40000 bytes (incorrect length check)");
  stored[1] = std::byte{0};
  EXPECT_EQ(message(stored, 40'000), "damaged stream after 0 of 40000 bytes (incorrect header check)");
}

TEST(Gzip, RefusesABomb) {
  const Bytes stored = gzip_member(Bytes(10'000'000), 9);
  EXPECT_LT(stored.size(), 20'000u);
  EXPECT_EQ(expect_refused(*codec_of("gzip", {}), stored, 4096).message(),
            "stream holds more than the expected 4096 bytes");
}

TEST(Gzip, FewerBytesThanExpectedAreNoError) {
  const Bytes plain = mixed_bytes(500, 8);
  EXPECT_EQ(decode(*codec_of("gzip", {}), gzip_member(plain), 600).value(), plain);
}

}  // namespace
}  // namespace headrace
