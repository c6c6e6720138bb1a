#include <lz4.h>
#include <rapidcheck.h>
#include <zstd.h>

#include "codec/codec_testing.h"

namespace headrace {
namespace {

constexpr const char* kCodec = "bitshuffle";
constexpr std::uint32_t kNone = 0, kLz4 = 2, kZstd = 3;

void put_be(Bytes& out, std::uint64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out.push_back(static_cast<std::byte>(value >> shift));
}

Bytes bit_planes(std::span<const std::byte> plain, std::size_t element_bytes) {
  Bytes planes(plain.size());
  const std::size_t elements = plain.size() / element_bytes;
  for (std::size_t e = 0; e < elements; ++e)
    for (std::size_t bit = 0; bit < 8 * element_bytes; ++bit)
      planes[bit * elements / 8 + e / 8] |= (plain[e * element_bytes + bit / 8] >> bit % 8 & std::byte{1}) << e % 8;
  return planes;
}

// An encoder from the format's description; the golden file holds the reference filter's own output.
Bytes encode(const Bytes& plain, std::size_t element_bytes, std::size_t block_elements, std::uint32_t packing) {
  Bytes stored;
  if (packing != kNone) {
    put_be(stored, plain.size(), 8);
    put_be(stored, block_elements * element_bytes, 4);
  }
  std::size_t at = 0, left = plain.size() / element_bytes;
  while (left >= 8) {
    const std::size_t elements = std::min(block_elements, left - left % 8), size = elements * element_bytes;
    Bytes block = bit_planes(std::span(plain).subspan(at, size), element_bytes);
    if (packing == kLz4) {
      Bytes packed(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(size))));
      packed.resize(static_cast<std::size_t>(
          LZ4_compress_default(reinterpret_cast<const char*>(block.data()), reinterpret_cast<char*>(packed.data()),
                               static_cast<int>(size), static_cast<int>(packed.size()))));
      block = packed;
    } else if (packing == kZstd) {
      Bytes packed(ZSTD_compressBound(size));
      packed.resize(ZSTD_compress(packed.data(), packed.size(), block.data(), size, 1));
      block = packed;
    }
    if (packing != kNone) put_be(stored, block.size(), 4);
    stored.insert(stored.end(), block.begin(), block.end());
    at += size;
    left -= elements;
  }
  stored.insert(stored.end(), plain.begin() + static_cast<std::ptrdiff_t>(at), plain.end());
  return stored;
}

TEST(Bitshuffle, RoundTrip) {
  EXPECT_TRUE(rc::check("of mixed data", [&] {
    const auto elements = *rc::gen::inRange<std::size_t>(0, 3000);
    const auto element_bytes = *rc::gen::element<std::uint32_t>(1, 2, 3, 4, 8, 16);
    const auto block = *rc::gen::element<std::uint32_t>(8, 64, 1000, 4096);
    const auto packing = *rc::gen::element(kNone, kLz4, kZstd);
    const Bytes plain = mixed_bytes(elements * element_bytes, static_cast<std::uint32_t>(elements));
    const Bytes stored = encode(plain, element_bytes, block, packing);
    const auto codec = codec_of(kCodec, {0, 4, element_bytes, block, packing});
    RC_ASSERT(stored.size() <= codec->max_encoded_size(plain.size()));
    expect_decodes(*codec, stored, plain);
    // The header, not the client values, says how compressed data is blocked.
    if (packing != kNone) expect_decodes(*codec_of(kCodec, {0, 4, element_bytes, 0, packing}), stored, plain);
  }));
}

TEST(Bitshuffle, TheDefaultBlockIs8KiBAndAtLeast128Elements) {
  for (const auto& [element_bytes, block] : {std::pair{1u, 8192u}, {3u, 2728u}, {8u, 1024u}, {100u, 128u}}) {
    const Bytes plain = mixed_bytes(element_bytes * 9000, element_bytes);
    expect_decodes(*codec_of(kCodec, {0, 4, element_bytes}), encode(plain, element_bytes, block, kNone), plain);
  }
}

TEST(Bitshuffle, SurvivesDamage) {
  const Bytes plain = mixed_bytes(811 * 4, 5);
  for (const auto packing : {kNone, kLz4, kZstd}) {
    const Bytes small(plain.begin(), plain.begin() + 404);
    expect_survives_damage(*codec_of(kCodec, {0, 4, 4, 32, packing}), encode(small, 4, 32, packing), small);
  }
  const auto codec = codec_of(kCodec, {0, 4, 4, 0, kLz4});
  const Bytes stored = encode(plain, 4, 256, kLz4);
  for (std::size_t size = 0; size < stored.size(); ++size)
    expect_refused(*codec, std::span(stored).first(size), plain.size());
}

TEST(Bitshuffle, BelievesNothingInTheHeader) {
  const auto refused = [&](std::uint64_t total, std::uint64_t block_bytes) {
    Bytes bytes;
    put_be(bytes, total, 8);
    put_be(bytes, block_bytes, 4);
    put_be(bytes, 10, 4);
    bytes.resize(bytes.size() + 20);
    return expect_refused(*codec_of(kCodec, {0, 4, 4, 0, kLz4}), bytes, 1000).message();
  };
  EXPECT_EQ(refused(1000, 0), "the header says blocks of 0 bytes for elements of 4");
  EXPECT_EQ(refused(1000, 36), "the header says blocks of 36 bytes for elements of 4");
  EXPECT_EQ(refused(1000, 3), "the header says blocks of 3 bytes for elements of 4");
  EXPECT_EQ(refused(1004, 32), "the stream holds 1004 bytes where 1000 are expected");
  EXPECT_EQ(refused(~std::uint64_t{0}, 32), "the stream holds 18446744073709551615 bytes where 1000 are expected");
  EXPECT_EQ(refused(999, 32), "999 bytes are no whole number of 4-byte elements");
  EXPECT_EQ(refused(1000, 0xffffffe0), "damaged block after 0 of 1000 bytes");
}

TEST(Bitshuffle, RefusesNonsenseClientValues) {
  const auto code = [](std::vector<std::uint32_t> values) {
    auto codec = make_codec({kCodec, std::move(values)}, {});
    return codec.ok() ? ErrorCode::kInternal : codec.error().code();
  };
  EXPECT_EQ(code({}), ErrorCode::kCorruptData);
  EXPECT_EQ(code({0, 4, 0}), ErrorCode::kCorruptData);
  EXPECT_EQ(code({0, 4, 4, 12}), ErrorCode::kCorruptData);
  EXPECT_EQ(code({0, 4, 4, 0, 9}), ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace headrace
