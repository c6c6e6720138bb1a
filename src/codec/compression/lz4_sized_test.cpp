#include <lz4.h>

#include "codec/codec_testing.h"

namespace headrace {
namespace {

Bytes sized_block(const Bytes& plain, std::size_t said) {
  Bytes stored(4 + static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(plain.size()))));
  for (std::size_t i = 0; i < 4; ++i) stored[i] = static_cast<std::byte>(said >> 8 * i);
  const int size =
      LZ4_compress_default(reinterpret_cast<const char*>(plain.data()), reinterpret_cast<char*>(stored.data() + 4),
                           static_cast<int>(plain.size()), static_cast<int>(stored.size() - 4));
  stored.resize(4 + static_cast<std::size_t>(size));
  return stored;
}

TEST(Lz4Sized, RoundTripAndSizesThatLie) {
  const auto codec = codec_of("lz4_sized", {});
  const Bytes plain = mixed_bytes(50'000, 2);
  expect_decodes(*codec, sized_block(plain, plain.size()), plain);
  Bytes out(plain.size());
  for (const std::size_t said : {plain.size() - 1, plain.size() + 1, std::size_t{0}, std::size_t{0xffffffff}})
    EXPECT_EQ(codec->decode(sized_block(plain, said), out).error().code(), ErrorCode::kCorruptData) << said;
  EXPECT_EQ(codec->decode(std::span(out).first(3), out).error().code(), ErrorCode::kCorruptData);
}

}  // namespace
}  // namespace headrace
