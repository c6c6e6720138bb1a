#include "codec/elements/byte_planes.h"

#include "codec/codec_testing.h"
#include "codec/elements/unshuffle.h"

namespace headrace {
namespace {

TEST(SplitPlanes, IsWhatUnshuffleUndoesOnEveryTarget) {
  for_each_target([] {
    for (std::size_t element_bytes = 1; element_bytes <= 17; ++element_bytes)
      for (std::size_t elements = 0; elements <= 300; elements += elements < 140 ? 1 : 13) {
        ExactBuffer in(random_bytes(elements * element_bytes, static_cast<std::uint32_t>(elements)));
        ExactBuffer planes(elements * element_bytes), back(elements * element_bytes);
        split_planes(in.u8(), elements, element_bytes, planes.u8());
        unshuffle_scalar(planes.u8(), elements, element_bytes, back.u8());
        ASSERT_TRUE(back.bytes() == in.bytes()) << elements << " elements of " << element_bytes;
      }
  });
}

}  // namespace
}  // namespace headrace
