#include <lz4.h>
#include <rapidcheck.h>

#include "codec/codec_testing.h"

namespace headrace {
namespace {

Bytes one_lz4_block(const Bytes& plain) {
  Bytes stored(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(plain.size()))));
  const std::byte none{};
  const int size = LZ4_compress_default(reinterpret_cast<const char*>(plain.empty() ? &none : plain.data()),
                                        reinterpret_cast<char*>(stored.data()), static_cast<int>(plain.size()),
                                        static_cast<int>(stored.size()));
  EXPECT_GT(size, 0);
  stored.resize(static_cast<std::size_t>(size));
  return stored;
}

TEST(Lz4Raw, RoundTrip) {
  const auto codec = codec_of("lz4_raw", {});
  EXPECT_TRUE(rc::check("of mixed data", [&] {
    const auto size = *rc::gen::inRange<std::size_t>(0, 100'000);
    const Bytes plain = mixed_bytes(size, static_cast<std::uint32_t>(size));
    const Bytes stored = one_lz4_block(plain);
    RC_ASSERT(stored.size() <= codec->max_encoded_size(size));
    expect_decodes(*codec, stored, plain);
  }));
  const Bytes noise = random_bytes(300'000, 1);
  EXPECT_LE(one_lz4_block(noise).size(), codec->max_encoded_size(noise.size()));
}

TEST(Lz4Raw, OfNothingIsOneByte) {
  const auto codec = codec_of("lz4_raw", {});
  const Bytes stored{std::byte{0}};
  EXPECT_EQ(one_lz4_block({}), stored);
  expect_decodes(*codec, stored, {});
  EXPECT_EQ(codec->decode(stored, {}).value(), 0u) << "an output that is a null pointer";
}

TEST(Lz4Raw, SurvivesDamage) {
  const Bytes plain = mixed_bytes(700, 3);
  expect_survives_damage(*codec_of("lz4_raw", {}), one_lz4_block(plain), plain);
}

TEST(Lz4Raw, TruncatedNeverDecodesToTheWhole) {
  const auto codec = codec_of("lz4_raw", {});
  const Bytes plain = mixed_bytes(700, 4), stored = one_lz4_block(plain);
  for (std::size_t size = 0; size < stored.size(); ++size) {
    const auto decoded = decode(*codec, std::span(stored).first(size), plain.size());
    EXPECT_FALSE(decoded.ok() && decoded->size() == plain.size()) << size;
  }
}

TEST(Lz4Raw, SaysWhatIsWrong) {
  const auto codec = codec_of("lz4_raw", {});
  const Bytes plain = random_bytes(1000, 5);
  const Bytes stored = one_lz4_block(plain);
  EXPECT_EQ(decode(*codec, stored, 1100)->size(), 1000u) << "fewer bytes than there is room for are no error";
  const std::string wrong = "the LZ4 block is damaged or holds more than the expected ";
  EXPECT_TRUE(expect_refused(*codec, stored, 999).message().starts_with(wrong + "999 bytes (found at byte "));
  EXPECT_TRUE(expect_refused(*codec, stored, 0).message().starts_with(wrong + "0 bytes (found at byte "));
  const Bytes far_back{std::byte{0x10}, std::byte{'a'}, std::byte{9}, std::byte{0}, std::byte{0}};
  EXPECT_EQ(expect_refused(*codec, far_back, 50).message().substr(0, wrong.size()), wrong);
  EXPECT_EQ(expect_refused(*codec, {}, 7).message(), "no LZ4 block in 0 stored bytes, 7 bytes expected");
}

TEST(Lz4Raw, RefusesABomb) {
  const Bytes stored = one_lz4_block(Bytes(10'000'000));
  EXPECT_LT(stored.size(), 50'000u);
  EXPECT_EQ(expect_refused(*codec_of("lz4_raw", {}), stored, 4096).code(), ErrorCode::kCorruptData);
}

}  // namespace
}  // namespace headrace
