#include "base/packed.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <limits>

namespace headrace {
namespace {

TEST(Packed, ReadsBackWhatWasWritten) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint64_t>& numbers, const std::vector<std::int64_t>& signed_numbers,
                           const std::vector<std::string>& texts, bool flag) {
    PackedWriter out;
    out.numbers(numbers);
    for (const std::int64_t n : signed_numbers) out.signed_number(n);
    for (const std::string& t : texts) out.text(t);
    out.flag(flag);
    PackedReader in(out.bytes());
    RC_ASSERT(in.numbers() == numbers);
    for (const std::int64_t n : signed_numbers) RC_ASSERT(in.signed_number() == n);
    for (const std::string& t : texts) RC_ASSERT(in.text() == t);
    RC_ASSERT(in.flag() == flag);
    RC_ASSERT(in.complete());
  }));
}

TEST(Packed, HoldsTheLargestNumbers) {
  PackedWriter out;
  for (const std::uint64_t n : {std::uint64_t{127}, std::uint64_t{128}, std::numeric_limits<std::uint64_t>::max()})
    out.number(n);
  out.signed_number(std::numeric_limits<std::int64_t>::min());
  PackedReader in(out.bytes());
  EXPECT_EQ(in.number(), 127u);
  EXPECT_EQ(in.number(), 128u);
  EXPECT_EQ(in.number(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(in.signed_number(), std::numeric_limits<std::int64_t>::min());
  EXPECT_TRUE(in.complete());
}

TEST(Packed, TruncatedBytesAreNoticedEverywhere) {
  PackedWriter out;
  out.numbers(std::vector<std::uint64_t>{1, 1000, 3});
  out.text("some text");
  out.signed_number(-77777);
  out.text("the end");
  const std::string bytes = out.take();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    PackedReader in(std::string_view(bytes).substr(0, size));
    (void)in.numbers();
    (void)in.text();
    (void)in.signed_number();
    (void)in.text();
    EXPECT_FALSE(in.ok()) << size;
  }
}

TEST(Packed, CountsAndTextsNeverExceedTheBytes) {
  PackedWriter out;
  out.number(1'000'000'000'000);
  EXPECT_TRUE(PackedReader(out.bytes()).numbers().empty());
  EXPECT_TRUE(PackedReader(out.bytes()).text().empty());
  PackedReader in(out.bytes());
  EXPECT_EQ(in.count(), 0u);
  EXPECT_FALSE(in.ok());
  EXPECT_EQ(in.number(), 0u);
}

TEST(Packed, RefusesNumbersOfMoreThan64Bits) {
  const std::string too_long(11, '\x81');
  PackedReader in(too_long);
  (void)in.number();
  EXPECT_FALSE(in.ok());
  const std::string too_large = std::string(9, '\xFF') + '\x02';
  PackedReader large(too_large);
  (void)large.number();
  EXPECT_FALSE(large.ok());
}

}  // namespace
}  // namespace headrace
