#include <libaec.h>
#include <rapidcheck.h>

#include "codec/elements/bit_writer_testing.h"

namespace headrace {
namespace {

constexpr std::uint32_t kBigEndian = 16, kPredictor = 32, kEntropy = 4, kLittleEndian = 8, kRaw = 128;

struct SzipValues {
  std::uint32_t options = kPredictor | kLittleEndian | kRaw, block = 8, bits = 32, scanline = 64;
};

std::size_t sample_bytes(std::uint32_t bits) {
  return bits >= 32 || bits <= 8 ? 1 : bits <= 16 ? 2 : 4;
}
std::size_t pixel_bytes(std::uint32_t bits) {
  return bits >= 32 ? bits / 8 : sample_bytes(bits);
}

Result<std::unique_ptr<Codec>> try_szip(const SzipValues& v, std::uint64_t element_bytes = 0) {
  return make_codec({"szip", {v.options, v.block, v.bits, v.scanline}},
                    {0, element_bytes == 0 ? pixel_bytes(v.bits) : element_bytes});
}

std::unique_ptr<Codec> made_szip(const SzipValues& v) {
  auto codec = try_szip(v);
  EXPECT_TRUE(codec.ok()) << (codec.ok() ? "" : codec.error().what());
  return codec.ok() ? std::move(*codec) : nullptr;
}

/// As szlib's interface to libaec encodes: byte planes, then scanlines padded to whole blocks, the last one too.
Bytes encode(const SzipValues& v, const Bytes& plain) {
  const std::size_t planes = v.bits >= 32 ? v.bits / 8 : 1, sample = sample_bytes(v.bits);
  Bytes samples = plain;
  for (std::size_t i = 0; planes > 1 && i < plain.size(); ++i)
    samples[i % planes * (plain.size() / planes) + i / planes] = plain[i];
  const std::size_t line = v.scanline * sample, blocks = (v.scanline + v.block - 1) / v.block;
  Bytes padded;
  for (std::size_t at = 0; at < samples.size(); at += line) {
    const std::size_t end = std::min(at + line, samples.size());
    padded.insert(padded.end(), samples.begin() + static_cast<std::ptrdiff_t>(at),
                  samples.begin() + static_cast<std::ptrdiff_t>(end));
    for (std::size_t pad = blocks * v.block * sample - (end - at); pad > 0; pad -= sample)
      padded.insert(padded.end(), padded.end() - static_cast<std::ptrdiff_t>(sample), padded.end());
  }
  Bytes stored(2 * padded.size() + 1000);
  aec_stream stream{};
  stream.next_in = reinterpret_cast<const unsigned char*>(padded.data());
  stream.avail_in = padded.size();
  stream.next_out = reinterpret_cast<unsigned char*>(stored.data() + 4);
  stream.avail_out = stored.size() - 4;
  stream.bits_per_sample = v.bits >= 32 ? 8 : v.bits;
  stream.block_size = v.block;
  stream.rsi = static_cast<unsigned>(blocks);
  stream.flags = AEC_NOT_ENFORCE | ((v.options & kBigEndian) != 0 ? AEC_DATA_MSB : 0u) |
                 ((v.options & kPredictor) != 0 ? AEC_DATA_PREPROCESS : 0u);
  EXPECT_EQ(aec_buffer_encode(&stream), AEC_OK);
  stored.resize(4 + stream.total_out);
  for (std::size_t i = 0; i < 4; ++i) stored[i] = static_cast<std::byte>(plain.size() >> 8 * i);
  return stored;
}

/// Samples that vary slowly, jump, and stay, so that every way of coding a block occurs.
Bytes plain_pixels(const SzipValues& v, std::size_t pixels, std::uint32_t seed) {
  std::mt19937_64 random(seed);
  Bytes plain;
  std::uint64_t value = 0;
  unsigned spread = 0;
  for (std::size_t i = 0; i < pixels; ++i) {
    if (i % 40 == 0) spread = static_cast<unsigned>(random() % 65);
    if (spread > 0) value += random() >> (64 - spread);
    put_number(plain, v.bits == 64 ? value : value & ((std::uint64_t{1} << v.bits) - 1), pixel_bytes(v.bits),
               (v.options & kBigEndian) != 0);
  }
  return plain;
}

SzipValues any_values() {
  SzipValues v;
  v.options = *rc::gen::element(kPredictor, kEntropy) | *rc::gen::element(kBigEndian, kLittleEndian) | kRaw;
  v.block = 2 * *rc::gen::inRange(1u, 17u);
  v.bits = *rc::gen::oneOf(rc::gen::inRange(1u, 25u), rc::gen::element(32u, 64u));
  v.scanline = *rc::gen::inRange(v.block, 128 * v.block + 1);
  return v;
}

TEST(Szip, AnyPixelsInAnyScanlines) {
  EXPECT_TRUE(rc::check("round trip", [] {
    const SzipValues v = any_values();
    const Bytes plain = plain_pixels(v, *rc::gen::inRange<std::size_t>(0, 9000), *rc::gen::arbitrary<std::uint32_t>());
    SCOPED_TRACE(::testing::Message() << "options " << v.options << ", " << v.bits << " bits, blocks of " << v.block
                                      << ", scanlines of " << v.scanline << ", " << plain.size() << " bytes");
    const auto codec = made_szip(v);
    const Bytes stored = encode(v, plain);
    RC_ASSERT(stored.size() <= codec->max_encoded_size(plain.size()));
    expect_decodes(*codec, stored, plain);
  }));
}

TEST(Szip, EveryWidthOfPixels) {
  for (std::uint32_t bits = 1; bits <= 64; bits += bits < 24 ? 1 : bits == 24 ? 8 : 32)
    for (const std::uint32_t scanline : {64u, 70u}) {
      SCOPED_TRACE(::testing::Message() << bits << " bits, scanlines of " << scanline);
      const SzipValues v{.bits = bits, .scanline = scanline};
      const Bytes plain = plain_pixels(v, 5000, bits);
      expect_decodes(*made_szip(v), encode(v, plain), plain);
    }
}

TEST(Szip, LongScanlinesOfLargePixels) {
  const SzipValues v{.block = 32, .bits = 24, .scanline = 128 * 32};
  for (const std::size_t pixels : {1, 4095, 4096, 4097, 20'000}) {
    const Bytes plain = plain_pixels(v, pixels, 7);
    expect_decodes(*made_szip(v), encode(v, plain), plain);
  }
}

TEST(Szip, SettingsReadWell) {
  EXPECT_EQ(made_szip({.block = 16})->setting(), "nn-16");
  EXPECT_EQ(made_szip({.options = kEntropy})->setting(), "ec-8");
}

TEST(Szip, RefusesParametersThatLibaecWouldTrust) {
  const auto refusal = [](const SzipValues& v, std::uint64_t element_bytes = 4) {
    auto codec = try_szip(v, element_bytes);
    EXPECT_FALSE(codec.ok());
    if (codec.ok()) return std::string("made");
    EXPECT_EQ(codec.error().code(), ErrorCode::kCorruptData);
    return codec.error().message();
  };
  for (const std::uint32_t block : {0u, 1u, 7u, 34u, 0xfffffffeu})
    EXPECT_EQ(refusal({.block = block}),
              "blocks of " + std::to_string(block) + " pixels; there are even numbers from 2 to 32");
  for (const std::uint32_t scanline : {0u, 7u, 1025u, 0xffffffffu})
    EXPECT_EQ(refusal({.scanline = scanline}),
              "scanlines of " + std::to_string(scanline) + " pixels; with blocks of 8 there are 8 to 1024");
  for (const std::uint32_t bits : {0u, 25u, 31u, 33u, 63u, 65u, 0xffffffffu})
    EXPECT_EQ(refusal({.bits = bits}), "pixels of " + std::to_string(bits) + " bits; there are 1 to 24, 32 and 64");
  EXPECT_EQ(refusal({.bits = 24}, 3), "pixels of 24 bits take 4 bytes, the array's elements have 3");
  EXPECT_EQ(refusal({.bits = 64}), "pixels of 64 bits take 8 bytes, the array's elements have 4");
  EXPECT_EQ(refusal({.bits = 32}, 2), "pixels of 32 bits take 4 bytes, the array's elements have 2");
  EXPECT_TRUE(try_szip({.bits = 12}, 4).ok()) << "12 significant bits in integers of 4 bytes are two pixels";
  for (const std::vector<std::uint32_t>& values : {std::vector<std::uint32_t>{}, {32, 8, 32}, {32, 8, 32, 64, 0}})
    EXPECT_EQ(make_codec({"szip", values}, {400, 4}).error().code(), ErrorCode::kCorruptData);
}

TEST(Szip, SaysWhatIsWrongWithAStream) {
  for (const SzipValues& v :
       {SzipValues{.bits = 16}, SzipValues{.bits = 16, .scanline = 70}, SzipValues{}, SzipValues{.scanline = 70}}) {
    SCOPED_TRACE(::testing::Message() << v.bits << " bits, scanlines of " << v.scanline);
    const auto codec = made_szip(v);
    const Bytes plain = plain_pixels(v, 500, 3), stored = encode(v, plain);
    const auto message = [&](std::span<const std::byte> bytes, std::size_t size) {
      return expect_refused(*codec, bytes, size).message();
    };
    const std::string size = std::to_string(plain.size());
    EXPECT_EQ(message(std::span(stored).first(3), plain.size()), "3 bytes cannot hold the length");
    EXPECT_EQ(message(std::span(stored).first(4), plain.size()), "stream ends after 0 of " + size + " bytes");
    EXPECT_EQ(message(stored, plain.size() - 1),
              "the header says " + size + " bytes where " + std::to_string(plain.size() - 1) + " are expected");
    Bytes odd = stored;
    odd[0] ^= std::byte{1};
    EXPECT_EQ(message(odd, plain.size() + 1),
              "the header says " + std::to_string(plain.size() + 1) + " bytes, which is no whole number of pixels");
    for (std::size_t cut = 4; cut < stored.size() - 60; ++cut)
      expect_refused(*codec, std::span(stored).first(cut), plain.size());
  }
}

TEST(Szip, NoticesABlockThatCannotBe) {
  // 3 bits that say "all zero", 1 that says "of zero blocks", 8 of a first sample, then a count of blocks in unary.
  const SzipValues v{.options = kPredictor, .bits = 8, .scanline = 16};
  BitWriter writer;
  writer.put(0, 4);
  writer.put(7, 8);
  writer.put(1, 8);  // eight blocks where a scanline has two
  Bytes stored;
  put_number(stored, 500, 4, false);
  stored.insert(stored.end(), writer.bytes().begin(), writer.bytes().end());
  stored.resize(200);
  EXPECT_EQ(expect_refused(*made_szip(v), stored, 500).message(), "damaged stream after about 0 of 500 bytes");
}

TEST(Szip, SurvivesDamage) {
  for (const SzipValues& v :
       {SzipValues{.bits = 16}, SzipValues{.bits = 7, .scanline = 70}, SzipValues{.bits = 64, .scanline = 13},
        SzipValues{.options = kEntropy | kBigEndian, .bits = 20, .scanline = 9}}) {
    const Bytes plain = plain_pixels(v, 150, 3);
    expect_survives_damage(*made_szip(v), encode(v, plain), plain);
  }
}

TEST(Szip, RandomStreamsStayInBounds) {
  EXPECT_TRUE(rc::check("with a length in front", [] {
    const SzipValues v = any_values();
    const std::size_t size = pixel_bytes(v.bits) * *rc::gen::inRange<std::size_t>(0, 5000);
    Bytes stored = random_bytes(4 + *rc::gen::inRange<std::size_t>(0, 3000), *rc::gen::arbitrary<std::uint32_t>());
    if (*rc::gen::arbitrary<bool>()) std::fill(stored.begin() + 4, stored.end(), std::byte{0});
    for (std::size_t i = 0; i < 4; ++i) stored[i] = static_cast<std::byte>(size >> 8 * i);
    const auto decoded = decode(*made_szip(v), stored, size);
    if (decoded.ok()) RC_ASSERT(decoded->size() == size);
  }));
}

}  // namespace
}  // namespace headrace
