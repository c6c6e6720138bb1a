#include "codec/elements/bit_reader.h"

#include <rapidcheck.h>

#include "codec/elements/bit_writer_testing.h"

namespace headrace {
namespace {

TEST(BitReader, ReadsWhatWasWrittenBitByBit) {
  EXPECT_TRUE(rc::check("numbers of any width in any order", [] {
    const auto widths = *rc::gen::container<std::vector<unsigned>>(rc::gen::inRange(0u, 65u));
    std::vector<std::uint64_t> numbers;
    BitWriter writer;
    for (const unsigned bits : widths) {
      const auto number = *rc::gen::arbitrary<std::uint64_t>() & (bits == 0 ? 0 : ~std::uint64_t{0} >> (64 - bits));
      numbers.push_back(number);
      writer.put(number, bits);
    }
    ExactBuffer stored(writer.bytes());
    BitReader reader(stored.span());
    for (std::size_t i = 0; i < widths.size(); ++i) RC_ASSERT(reader.take(widths[i]) == numbers[i]);
  }));
}

TEST(BitReader, BehindTheEndAreZeros) {
  for (std::size_t size = 0; size < 20; ++size) {
    ExactBuffer stored{Bytes(size, std::byte{0xff})};
    BitReader reader(stored.span());
    for (std::size_t byte = 0; byte < size; ++byte) EXPECT_EQ(reader.take(8), 0xffu);
    for (const unsigned bits : {1u, 7u, 57u, 58u, 64u}) EXPECT_EQ(reader.take(bits), 0u);
  }
}

}  // namespace
}  // namespace headrace
