#include "codec/elements/bitunshuffle.h"

#include <rapidcheck.h>

#include "codec/codec_testing.h"

namespace headrace {
namespace {

void expect_equal_to_scalar(std::size_t elements, std::size_t element_bytes) {
  ExactBuffer in(random_bytes(elements * element_bytes, static_cast<std::uint32_t>(elements)));
  ExactBuffer simd(elements * element_bytes), scalar(elements * element_bytes);
  bitunshuffle(in.u8(), elements, element_bytes, simd.u8());
  bitunshuffle_scalar(in.u8(), elements, element_bytes, scalar.u8());
  ASSERT_TRUE(simd.bytes() == scalar.bytes()) << elements << " elements of " << element_bytes;
}

TEST(Bitunshuffle, EqualsItsScalarTwinOnEveryTarget) {
  for_each_target([] {
    for (std::size_t element_bytes = 1; element_bytes <= 18; ++element_bytes)
      for (std::size_t elements = 0; elements <= 640; elements += 8) expect_equal_to_scalar(elements, element_bytes);
    for (const std::size_t element_bytes : {63, 64, 65, 1000, 2048, 2049, 5000}) {
      for (const std::size_t elements : {8, 16, 264}) expect_equal_to_scalar(elements, element_bytes);
    }
    for (const std::size_t element_bytes : {1, 2, 4, 8}) expect_equal_to_scalar(40000, element_bytes);
  });
}

TEST(Bitunshuffle, UndoesTheDefinition) {
  EXPECT_TRUE(rc::check("bit planes back to elements", [] {
    const auto groups = *rc::gen::inRange<std::size_t>(0, 300);
    const auto element_bytes = *rc::gen::element<std::size_t>(1, 2, 3, 4, 8, 12, 16);
    const std::size_t elements = 8 * groups;
    const Bytes plain = random_bytes(elements * element_bytes, static_cast<std::uint32_t>(groups));
    Bytes planes(plain.size());
    for (std::size_t e = 0; e < elements; ++e)
      for (std::size_t bit = 0; bit < 8 * element_bytes; ++bit)
        planes[bit * groups + e / 8] |= (plain[e * element_bytes + bit / 8] >> bit % 8 & std::byte{1}) << e % 8;
    ExactBuffer in(planes), out(plain.size());
    bitunshuffle(in.u8(), elements, element_bytes, out.u8());
    RC_ASSERT(out.bytes() == plain);
  }));
}

}  // namespace
}  // namespace headrace
