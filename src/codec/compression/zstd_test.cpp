#include <rapidcheck.h>
#include <zstd.h>

#include "codec/codec_testing.h"

namespace headrace {
namespace {

constexpr const char* kZstdCodec = "zstd";

Bytes encode(const Bytes& plain, int level, bool checksum = false, bool size_known = true) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, checksum);
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, size_known);
  Bytes stored(ZSTD_compressBound(plain.size()));
  stored.resize(ZSTD_compress2(context, stored.data(), stored.size(), plain.data(), plain.size()));
  ZSTD_freeCCtx(context);
  return stored;
}

TEST(Zstd, RoundTrip) {
  const auto codec = codec_of(kZstdCodec, {3});
  EXPECT_EQ(codec->setting(), "3");
  EXPECT_EQ(codec_of(kZstdCodec, {static_cast<std::uint32_t>(-5)})->setting(), "-5");
  EXPECT_TRUE(rc::check("of mixed data", [&] {
    const auto size = *rc::gen::inRange<std::size_t>(0, 70000);
    const Bytes plain = mixed_bytes(size, static_cast<std::uint32_t>(size));
    const Bytes stored =
        encode(plain, *rc::gen::inRange(-3, 12), *rc::gen::arbitrary<bool>(), *rc::gen::arbitrary<bool>());
    RC_ASSERT(stored.size() <= codec->max_encoded_size(size));
    expect_decodes(*codec, stored, plain);
  }));
}

TEST(Zstd, SeveralFramesAreOneStream) {
  const Bytes a = mixed_bytes(3000, 1), b = mixed_bytes(2000, 2);
  Bytes plain = a, stored = encode(a, 3);
  const Bytes second = encode(b, 1, true, false);
  plain.insert(plain.end(), b.begin(), b.end());
  stored.insert(stored.end(), second.begin(), second.end());
  expect_decodes(*codec_of(kZstdCodec, {}), stored, plain);
}

TEST(Zstd, SurvivesDamage) {
  const Bytes plain = mixed_bytes(800, 5);
  expect_survives_damage(*codec_of(kZstdCodec, {}), encode(plain, 5), plain);
  expect_survives_damage(*codec_of(kZstdCodec, {}), encode(plain, 5, true, false), plain);
}

TEST(Zstd, RefusesABombAndAFrameTooLarge) {
  const auto codec = codec_of(kZstdCodec, {});
  EXPECT_EQ(expect_refused(*codec, encode(Bytes(10'000'000), 3), 4096).message(),
            "the frame holds 10000000 bytes where 4096 are expected");
  expect_refused(*codec, encode(Bytes(10'000'000), 3, false, false), 4096);
  expect_refused(*codec, encode(Bytes(1), 3), 0);
}

}  // namespace
}  // namespace headrace
