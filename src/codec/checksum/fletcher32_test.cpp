#include <rapidcheck.h>

#include "codec/checksum/fletcher32_sum.h"
#include "codec/codec_testing.h"
#include "codec/coded_bytes.h"

namespace headrace {
namespace {

TEST(Fletcher32Sum, EqualsItsScalarTwinOnEveryTarget) {
  for_each_target([] {
    for (std::size_t size = 0; size <= 1700; ++size) {
      for (const bool full : {false, true}) {
        ExactBuffer data(full ? Bytes(size, std::byte{0xff}) : random_bytes(size, static_cast<std::uint32_t>(size)));
        ASSERT_EQ(fletcher32_sum(data.u8(), size), fletcher32_sum_scalar(data.u8(), size)) << size << " bytes";
      }
    }
    for (const std::size_t size : {16383, 16384, 100000, 1000001}) {  // longer than a block of SIMD steps
      ExactBuffer data(Bytes(size, std::byte{0xff})), noise(random_bytes(size, 9));
      ASSERT_EQ(fletcher32_sum(data.u8(), size), fletcher32_sum_scalar(data.u8(), size)) << size << " bytes";
      ASSERT_EQ(fletcher32_sum(noise.u8(), size), fletcher32_sum_scalar(noise.u8(), size)) << size << " bytes";
      ASSERT_EQ(fletcher32_sum(noise.u8() + 1, size - 1), fletcher32_sum_scalar(noise.u8() + 1, size - 1));
    }
  });
}

TEST(Fletcher32Sum, KeepsTheTwoZerosOfOnesComplementApart) {
  EXPECT_TRUE(rc::check("sparse data whose sums are often 0 or 65535", [] {
    Bytes plain(*rc::gen::inRange<std::size_t>(1, 400));
    for (int i = 0; i < 4; ++i)
      plain[*rc::gen::inRange<std::size_t>(0, plain.size())] = *rc::gen::element(std::byte{0}, std::byte{0xff});
    ExactBuffer data(plain);
    RC_ASSERT(fletcher32_sum(data.u8(), plain.size()) == fletcher32_sum_scalar(data.u8(), plain.size()));
  }));
}

Bytes with_sum(Bytes data, std::uint32_t sum) {
  for (int shift = 0; shift < 32; shift += 8) data.push_back(static_cast<std::byte>(sum >> shift));
  return data;
}

TEST(Fletcher32, AcceptsBothByteOrdersThatHdf5Wrote) {
  const Bytes plain = random_bytes(1001, 5);
  const std::uint32_t sum = fletcher32_sum_scalar(as_u8(plain.data()), plain.size());
  const std::uint32_t swapped = (sum & 0x00ff00ff) << 8 | (sum >> 8 & 0x00ff00ff);
  const auto codec = codec_of("fletcher32", {});
  expect_decodes(*codec, with_sum(plain, sum), plain);
  expect_decodes(*codec, with_sum(plain, swapped), plain);
  EXPECT_EQ(codec->encoded_size(1001), 1005u);
  const Error error = expect_refused(*codec, with_sum(plain, sum + 1), 1001);
  EXPECT_NE(error.message().find("checksum mismatch"), std::string::npos) << error.what();
}

TEST(Fletcher32, NoticesEveryFlippedBit) {
  Bytes stored = random_bytes(60, 6);
  stored = with_sum(stored, fletcher32_sum_scalar(as_u8(stored.data()), stored.size()));
  for (std::size_t bit = 0; bit < 8 * stored.size(); ++bit) {
    Bytes flipped = stored;
    flipped[bit / 8] ^= std::byte{static_cast<std::uint8_t>(1u << bit % 8)};
    EXPECT_EQ(expect_refused(*codec_of("fletcher32", {}), flipped, 60).code(), ErrorCode::kCorruptData);
  }
  for (std::size_t size = 0; size < 4; ++size)
    expect_refused(*codec_of("fletcher32", {}), std::span(stored).first(size), 60);
  expect_refused(*codec_of("fletcher32", {}), stored, 59);
}

}  // namespace
}  // namespace headrace
