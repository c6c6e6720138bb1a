#include <rapidcheck.h>
#include <snappy-c.h>

#include "codec/codec_testing.h"

namespace headrace {
namespace {

Bytes by_snappy(const Bytes& plain) {
  std::size_t size = snappy_max_compressed_length(plain.size());
  Bytes stored(size);
  EXPECT_EQ(snappy_compress(reinterpret_cast<const char*>(plain.data()), plain.size(),
                            reinterpret_cast<char*>(stored.data()), &size),
            SNAPPY_OK);
  stored.resize(size);
  return stored;
}

TEST(Snappy, RoundTrip) {
  const auto codec = codec_of("snappy", {});
  EXPECT_EQ(codec->setting(), "");
  EXPECT_TRUE(rc::check("of mixed data", [&] {
    const auto size = *rc::gen::inRange<std::size_t>(0, 200'000);  // libsnappy works on 64 KiB at a time
    const Bytes plain = mixed_bytes(size, static_cast<std::uint32_t>(size));
    const Bytes stored = by_snappy(plain);
    RC_ASSERT(stored.size() <= codec->max_encoded_size(size));
    expect_decodes(*codec, stored, plain);
  }));
}

TEST(Snappy, OfNothingIsOneByte) {
  const auto codec = codec_of("snappy", {});
  EXPECT_EQ(by_snappy({}), Bytes{std::byte{0}});
  expect_decodes(*codec, Bytes{std::byte{0}}, {});
  const Bytes stored{std::byte{0}};
  EXPECT_EQ(codec->decode(stored, {}).value(), 0u) << "an output that is a null pointer";
}

TEST(Snappy, SurvivesDamage) {
  const Bytes plain = mixed_bytes(700, 3);
  expect_survives_damage(*codec_of("snappy", {}), by_snappy(plain), plain);
}

TEST(Snappy, NoticesEveryTruncationAndBytesBehindTheEnd) {
  const auto codec = codec_of("snappy", {});
  const Bytes plain = mixed_bytes(700, 4);
  Bytes stored = by_snappy(plain);
  for (std::size_t size = 0; size < stored.size(); ++size)
    expect_refused(*codec, std::span(stored).first(size), plain.size());
  stored.push_back(std::byte{0});
  expect_refused(*codec, stored, plain.size());
}

TEST(Snappy, BelievesNoDeclaredLength) {
  const auto codec = codec_of("snappy", {});
  const Bytes literal{std::byte{3}, std::byte{2 << 2}, std::byte{'a'}, std::byte{'b'}, std::byte{'c'}};
  const auto declared = [&](std::initializer_list<int> varint, std::size_t size) {
    Bytes stored;
    for (const int byte : varint) stored.push_back(static_cast<std::byte>(byte));
    stored.insert(stored.end(), literal.begin() + 1, literal.end());
    return expect_refused(*codec, stored, size).message();
  };
  EXPECT_EQ(decode(*codec, literal, 3)->size(), 3u);
  EXPECT_EQ(decode(*codec, literal, 100)->size(), 3u) << "fewer bytes than there is room for are no error";
  EXPECT_EQ(declared({4}, 4), "damaged block: its 5 stored bytes do not decode to the 4 that it declares");
  EXPECT_EQ(declared({2}, 3), "damaged block: its 5 stored bytes do not decode to the 2 that it declares");
  EXPECT_EQ(declared({3}, 2), "the block declares 3 bytes where 2 are expected");
  EXPECT_EQ(declared({0xff, 0xff, 0xff, 0xff, 0x0f}, 1000),
            "the block declares 4294967295 bytes where 1000 are expected");
  EXPECT_EQ(declared({0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, 1000),
            "no decoded size in front of the 10 stored bytes, 1000 bytes expected");
  EXPECT_EQ(expect_refused(*codec, {}, 7).message(),
            "no decoded size in front of the 0 stored bytes, 7 bytes expected");
}

TEST(Snappy, RefusesABomb) {
  const Bytes stored = by_snappy(Bytes(10'000'000));
  EXPECT_EQ(expect_refused(*codec_of("snappy", {}), stored, 4096).message(),
            "the block declares 10000000 bytes where 4096 are expected");
}

}  // namespace
}  // namespace headrace
