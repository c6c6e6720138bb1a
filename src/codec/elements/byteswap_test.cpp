#include "codec/elements/byteswap.h"

#include <rapidcheck.h>

#include <algorithm>

#include "codec/codec_testing.h"

namespace headrace {
namespace {

TEST(Byteswap, EqualsItsScalarTwinOnEveryTarget) {
  for_each_target([] {
    for (const std::size_t number_bytes : {0, 1, 2, 3, 4, 8, 16}) {
      for (std::size_t size = 0; size <= 600; ++size) {
        ExactBuffer simd(random_bytes(size, static_cast<std::uint32_t>(size)));
        ExactBuffer scalar(simd.span());
        swap_bytes(simd.span(), number_bytes);
        swap_bytes_scalar(scalar.span(), number_bytes);
        ASSERT_TRUE(simd.bytes() == scalar.bytes()) << size << " bytes in numbers of " << number_bytes;
      }
    }
  });
}

TEST(Byteswap, WorksAtAnyAlignmentAndTwiceIsNothing) {
  EXPECT_TRUE(rc::check("two swaps at an odd address", [] {
    const auto plain = random_bytes(*rc::gen::inRange<std::size_t>(0, 3000), 1);
    const auto offset = std::min(*rc::gen::inRange<std::size_t>(0, 17), plain.size());
    const auto number_bytes = *rc::gen::element<std::size_t>(2, 4, 8);
    ExactBuffer data(plain);
    swap_bytes(data.span().subspan(offset), number_bytes);
    if (plain.size() >= offset + number_bytes) RC_ASSERT(data.bytes()[offset] == plain[offset + number_bytes - 1]);
    swap_bytes(data.span().subspan(offset), number_bytes);
    RC_ASSERT(data.bytes() == plain);
  }));
}

}  // namespace
}  // namespace headrace
