#include <blosc.h>
#include <rapidcheck.h>

#include "codec/codec_testing.h"

namespace headrace {
namespace {

constexpr const char* kBloscCodec = "blosc";

Bytes encode(const Bytes& plain, int level, int shuffle, std::size_t type_bytes, const char* compressor,
             std::size_t block_bytes = 0) {
  Bytes stored(plain.size() + BLOSC_MAX_OVERHEAD);
  const int size = blosc_compress_ctx(level, shuffle, type_bytes, plain.size(), plain.data(), stored.data(),
                                      stored.size(), compressor, block_bytes, 1);
  EXPECT_GE(size, 0);
  stored.resize(static_cast<std::size_t>(size));
  return stored;
}

TEST(Blosc, RoundTrip) {
  const auto codec = codec_of(kBloscCodec, {});
  EXPECT_TRUE(rc::check("of mixed data, every compressor", [&] {
    const auto size = *rc::gen::inRange<std::size_t>(0, 70000);
    const Bytes plain = mixed_bytes(size, static_cast<std::uint32_t>(size));
    const Bytes stored = encode(
        plain, *rc::gen::inRange(0, 10), *rc::gen::inRange(0, 3), *rc::gen::element<std::size_t>(1, 2, 3, 4, 8, 16),
        *rc::gen::element("blosclz", "lz4", "lz4hc", "zlib", "zstd"), *rc::gen::element<std::size_t>(0, 512, 4096));
    RC_ASSERT(stored.size() <= codec->max_encoded_size(size));
    expect_decodes(*codec, stored, plain);
  }));
}

TEST(Blosc, SurvivesDamage) {
  for (const char* compressor : {"blosclz", "lz4", "zlib", "zstd"}) {
    const Bytes plain = mixed_bytes(1200, 5);
    for (const int shuffle : {0, 1, 2})
      expect_survives_damage(*codec_of(kBloscCodec, {}), encode(plain, 5, shuffle, 4, compressor, 512), plain);
  }
}

TEST(Blosc, BelievesNothingInTheHeader) {
  const auto codec = codec_of(kBloscCodec, {});
  const Bytes plain(100'000);
  const Bytes good = encode(plain, 5, 1, 4, "lz4");
  EXPECT_EQ(expect_refused(*codec, good, 4096).message(), "the header says 100000 bytes where 4096 are expected");
  EXPECT_EQ(expect_refused(*codec, std::span(good).first(15), 100'000).message(),
            "15 bytes cannot hold the Blosc header");
  const auto with = [&](std::size_t at, std::uint32_t value) {
    Bytes bytes = good;
    for (int i = 0; i < 4; ++i) bytes[at + static_cast<std::size_t>(i)] = static_cast<std::byte>(value >> 8 * i);
    return expect_refused(*codec, bytes, 100'000).message();
  };
  EXPECT_EQ(with(8, 0), "the header says blocks of 0 bytes for 100000 bytes of data");
  EXPECT_EQ(with(8, 0xffffffff), "the header says blocks of 4294967295 bytes for 100000 bytes of data");
  EXPECT_NE(with(12, 0xffffffff).find("4294967295 stored bytes"), std::string::npos);
  EXPECT_EQ(with(12, 4), "the Blosc header contradicts itself");
}

}  // namespace
}  // namespace headrace
