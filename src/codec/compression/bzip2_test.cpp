#include <bzlib.h>
#include <rapidcheck.h>

#include "codec/codec_testing.h"

namespace headrace {
namespace {

constexpr const char* kBzip2Codec = "bzip2";

/// `block_size` in 100,000 bytes, as client value 0.
Bytes encode(Bytes plain, int block_size) {
  auto size = static_cast<unsigned>(plain.size() + plain.size() / 100 + 600);  // libbz2's bound
  Bytes stored(size);
  std::byte none;
  EXPECT_EQ(BZ2_bzBuffToBuffCompress(reinterpret_cast<char*>(stored.data()), &size,
                                     reinterpret_cast<char*>(plain.empty() ? &none : plain.data()),
                                     static_cast<unsigned>(plain.size()), block_size, 0, 0),
            BZ_OK);
  stored.resize(size);
  return stored;
}

Bytes joined(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(Bzip2, RoundTrip) {
  const auto codec = codec_of(kBzip2Codec, {9});
  EXPECT_EQ(codec->setting(), "9");
  EXPECT_EQ(codec_of(kBzip2Codec, {})->setting(), "");
  EXPECT_TRUE(rc::check("of mixed data", [&] {
    const auto size = *rc::gen::inRange<std::size_t>(0, 70000);
    const Bytes plain = mixed_bytes(size, static_cast<std::uint32_t>(size));
    const Bytes stored = encode(plain, *rc::gen::inRange(1, 10));
    RC_ASSERT(stored.size() <= codec->max_encoded_size(size));
    expect_decodes(*codec, stored, plain);
  }));
}

TEST(Bzip2, SeveralBlocksAreOneStream) {
  const auto codec = codec_of(kBzip2Codec, {1});
  for (const std::size_t size : {99'980, 99'981, 99'982, 250'000}) {  // a block of 100,000 holds 19 fewer
    const Bytes noise = random_bytes(size, 6), stored = encode(noise, 1);
    EXPECT_LE(stored.size(), codec->max_encoded_size(size));
    expect_decodes(*codec, stored, noise);
    expect_refused(*codec, std::span(stored).first(stored.size() - 1), size);
    expect_refused(*codec, stored, size - 1);
  }
}

TEST(Bzip2, SurvivesDamage) {
  const Bytes plain = mixed_bytes(500, 5);
  expect_survives_damage(*codec_of(kBzip2Codec, {}), encode(plain, 1), plain);
}

TEST(Bzip2, NoticesEveryTruncationAndFlippedBit) {
  const Bytes plain = mixed_bytes(900, 1), stored = encode(plain, 1);
  const auto codec = codec_of(kBzip2Codec, {});
  expect_notices_damage(*codec, stored, plain);
}

TEST(Bzip2, SaysWhatIsWrong) {
  const auto codec = codec_of(kBzip2Codec, {});
  const Bytes plain = random_bytes(150'000, 1);
  const auto size = plain.size();
  Bytes stored = encode(plain, 1);
  const auto message = [&](std::span<const std::byte> bytes, std::size_t expected) {
    return expect_refused(*codec, bytes, expected).message();
  };
  EXPECT_EQ(message({}, size), "stream ends after 0 of 150000 bytes");
  EXPECT_EQ(message({}, 0), "stream ends without its checksum after 0 bytes");
  EXPECT_EQ(message(std::span(stored).first(stored.size() / 10 * 9), size), "stream ends after 99981 of 150000 bytes");
  EXPECT_EQ(message(std::span(stored).first(stored.size() - 1), size),
            "stream ends without its checksum after 150000 bytes");
  for (const std::size_t expected : {std::size_t{0}, std::size_t{99'980}, std::size_t{99'981}, size - 1})
    EXPECT_EQ(message(stored, expected), "stream holds more than the expected " + std::to_string(expected) + " bytes");
  stored[10] ^= std::byte{1};  // the first block's CRC-32, behind "BZh1" and six bytes that say "block"
  EXPECT_EQ(message(stored, size), "damaged stream after 99981 of 150000 bytes (invalid data or checksum)");
  stored[10] ^= std::byte{1};
  stored[stored.size() - 2] ^= std::byte{1};  // the stream's
  EXPECT_EQ(message(stored, size), "damaged stream after 150000 of 150000 bytes (invalid data or checksum)");
  stored[3] = std::byte{'0'};  // no such block size
  EXPECT_EQ(message(stored, size), "damaged stream after 0 of 150000 bytes (no bzip2 header)");
}

TEST(Bzip2, RefusesABomb) {
  const Bytes stored = encode(Bytes(10'000'000), 9);
  EXPECT_LT(stored.size(), 100u);
  EXPECT_EQ(expect_refused(*codec_of(kBzip2Codec, {}), stored, 4096).message(),
            "stream holds more than the expected 4096 bytes");
}

TEST(Bzip2, FewerBytesThanExpectedAndBytesAfterTheStreamAreNoError) {
  const Bytes plain = mixed_bytes(500, 8), stored = encode(plain, 9);
  for (const Bytes& behind : {Bytes(3), stored}) {
    auto decoded = decode(*codec_of(kBzip2Codec, {}), joined(stored, behind), 1100);
    ASSERT_TRUE(decoded.ok()) << decoded.error().what();
    EXPECT_TRUE(*decoded == plain);
  }
  expect_decodes(*codec_of(kBzip2Codec, {}), encode({}, 9), {});
}

}  // namespace
}  // namespace headrace
