#include "codec/elements/unshuffle.h"

#include <rapidcheck.h>

#include "codec/codec_testing.h"

namespace headrace {
namespace {

void expect_unshuffles_as_scalar(std::size_t elements, std::size_t element_bytes) {
  ExactBuffer in(random_bytes(elements * element_bytes, static_cast<std::uint32_t>(elements)));
  ExactBuffer simd(elements * element_bytes), scalar(elements * element_bytes);
  unshuffle(in.u8(), elements, element_bytes, simd.u8());
  unshuffle_scalar(in.u8(), elements, element_bytes, scalar.u8());
  ASSERT_TRUE(simd.bytes() == scalar.bytes()) << elements << " elements of " << element_bytes;
}

TEST(Unshuffle, EqualsItsScalarTwinOnEveryTarget) {
  for_each_target([] {
    for (std::size_t element_bytes = 1; element_bytes <= 34; ++element_bytes)
      for (std::size_t elements = 0; elements <= 150; ++elements) expect_unshuffles_as_scalar(elements, element_bytes);
    for (const std::size_t element_bytes : {2, 4, 8, 16})
      for (std::size_t elements = 151; elements <= 600; ++elements)
        expect_unshuffles_as_scalar(elements, element_bytes);
  });
}

TEST(Unshuffle, UndoesTheDefinition) {
  EXPECT_TRUE(rc::check("unshuffle of byte planes", [] {
    const auto elements = *rc::gen::inRange<std::size_t>(0, 5000);
    const auto element_bytes = *rc::gen::weightedOneOf<std::size_t>(
        {{2, rc::gen::element<std::size_t>(2, 4, 8, 16)}, {1, rc::gen::inRange<std::size_t>(1, 300)}});
    const Bytes plain = random_bytes(elements * element_bytes, static_cast<std::uint32_t>(elements));
    Bytes planes(plain.size());
    for (std::size_t e = 0; e < elements; ++e)
      for (std::size_t b = 0; b < element_bytes; ++b) planes[b * elements + e] = plain[e * element_bytes + b];
    ExactBuffer in(planes), out(plain.size());
    unshuffle(in.u8(), elements, element_bytes, out.u8());
    RC_ASSERT(out.bytes() == plain);
  }));
}

TEST(Shuffle, CopiesTheBytesAfterTheLastWholeElement) {
  const auto codec = codec_of("shuffle", {4});
  Bytes stored, plain;
  for (int i = 0; i < 11; ++i) stored.push_back(std::byte(i));
  for (const int i : {0, 2, 4, 6, 1, 3, 5, 7, 8, 9, 10}) plain.push_back(std::byte(i));
  expect_decodes(*codec, stored, plain);
  EXPECT_EQ(codec->encoded_size(11), 11u);
}

TEST(Shuffle, RefusesMoreThanExpectedAndNonsense) {
  EXPECT_EQ(expect_refused(*codec_of("shuffle", {4}), Bytes(12), 11).code(), ErrorCode::kCorruptData);
  EXPECT_EQ(make_codec({"shuffle", {}}, {}).error().code(), ErrorCode::kCorruptData);
  EXPECT_EQ(make_codec({"shuffle", {0}}, {}).error().code(), ErrorCode::kCorruptData);
  expect_decodes(*codec_of("shuffle", {0xffffffffu}), Bytes(5), Bytes(5));
}

}  // namespace
}  // namespace headrace
