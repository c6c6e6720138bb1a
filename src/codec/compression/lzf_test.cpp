#include <rapidcheck.h>

#include <map>

#include "codec/codec_testing.h"

namespace headrace {
namespace {

constexpr const char* kLzfCodec = "lzf";

Bytes bytes_of(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

// A greedy encoder of the format, written from its description; the golden file holds liblzf's own output.
Bytes encode(const Bytes& plain) {
  Bytes stored, literals;
  const auto flush = [&] {
    for (std::size_t i = 0; i < literals.size(); i += 32) {
      const std::size_t run = std::min<std::size_t>(32, literals.size() - i);
      stored.push_back(static_cast<std::byte>(run - 1));
      stored.insert(stored.end(), literals.begin() + static_cast<std::ptrdiff_t>(i),
                    literals.begin() + static_cast<std::ptrdiff_t>(i + run));
    }
    literals.clear();
  };
  std::map<std::vector<std::byte>, std::size_t> seen;
  for (std::size_t at = 0; at < plain.size();) {
    std::size_t length = 0, distance = 0;
    if (at + 3 <= plain.size()) {
      const auto key = std::vector(plain.begin() + static_cast<std::ptrdiff_t>(at),
                                   plain.begin() + static_cast<std::ptrdiff_t>(at + 3));
      if (const auto found = seen.find(key); found != seen.end() && at - found->second <= 8192) {
        distance = at - found->second;
        while (length < 264 && at + length < plain.size() && plain[at + length] == plain[at + length - distance])
          ++length;
      }
      seen[key] = at;
    }
    if (length < 3) {
      literals.push_back(plain[at++]);
      continue;
    }
    flush();
    const std::size_t code = length - 2, back = distance - 1;
    stored.push_back(static_cast<std::byte>(std::min<std::size_t>(code, 7) << 5 | back >> 8));
    if (code >= 7) stored.push_back(static_cast<std::byte>(code - 7));
    stored.push_back(static_cast<std::byte>(back & 0xff));
    at += length;
  }
  flush();
  return stored;
}

TEST(Lzf, RoundTrip) {
  const auto codec = codec_of(kLzfCodec, {4, 261, 0});
  EXPECT_TRUE(rc::check("of mixed data", [&] {
    const auto size = *rc::gen::inRange<std::size_t>(0, 20000);
    const Bytes plain = mixed_bytes(size, static_cast<std::uint32_t>(size) + 7);
    const Bytes stored = encode(plain);
    RC_ASSERT(stored.size() <= codec->max_encoded_size(size));
    expect_decodes(*codec, stored, plain);
  }));
}

TEST(Lzf, EveryDistanceAndLength) {
  const Bytes start = random_bytes(40, 2);
  for (std::size_t distance = 1; distance <= 40; ++distance) {
    for (std::size_t length = 3; length <= 264; ++length) {
      for (const std::size_t after : {0, 1, 16, 40}) {  // room behind the match lets it be copied in strides
        Bytes plain = start, stored = encode(start);
        for (std::size_t i = 0; i < length; ++i) plain.push_back(plain[plain.size() - distance]);
        stored.push_back(static_cast<std::byte>(std::min<std::size_t>(length - 2, 7) << 5));
        if (length - 2 >= 7) stored.push_back(static_cast<std::byte>(length - 2 - 7));
        stored.push_back(static_cast<std::byte>(distance - 1));
        for (std::size_t i = 0; i < after; ++i) {
          plain.push_back(std::byte{9});
          stored.insert(stored.end(), {std::byte{0}, std::byte{9}});
        }
        expect_decodes(*codec_of(kLzfCodec, {}), stored, plain);
      }
    }
  }
}

TEST(Lzf, SurvivesDamage) {
  const Bytes plain = mixed_bytes(900, 5);
  expect_survives_damage(*codec_of(kLzfCodec, {}), encode(plain), plain);
}

TEST(Lzf, SaysWhatIsWrong) {
  const auto codec = codec_of(kLzfCodec, {});
  EXPECT_EQ(expect_refused(*codec, bytes_of({3, 1, 2}), 8).message(), "stream ends inside a step, after 0 of 8 bytes");
  EXPECT_EQ(expect_refused(*codec, bytes_of({0, 1, 0x20}), 8).message(),
            "stream ends inside a step, after 1 of 8 bytes");
  EXPECT_EQ(expect_refused(*codec, bytes_of({0, 1, 0xe0}), 8).message(),
            "stream ends inside a step, after 1 of 8 bytes");
  EXPECT_EQ(expect_refused(*codec, bytes_of({0, 1, 0xe0, 0}), 8).message(),
            "stream ends inside a step, after 1 of 8 bytes");
  EXPECT_EQ(expect_refused(*codec, bytes_of({0, 1, 0x20, 1}), 8).message(),
            "damaged stream after 1 bytes (it refers back 2 bytes)");
  EXPECT_EQ(expect_refused(*codec, bytes_of({0, 1, 0xe0, 255, 0}), 8).message(),
            "stream holds more than the expected 8 bytes");
  EXPECT_EQ(expect_refused(*codec, bytes_of({1, 1, 2}), 1).message(), "stream holds more than the expected 1 bytes");
  expect_decodes(*codec, {}, {});
}

}  // namespace
}  // namespace headrace
