#include "base/random/divisor.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace headrace {
namespace {

TEST(Divisor, DividesAsTheProcessorDoes) {
  EXPECT_TRUE(rc::check([] {
    const auto d = std::max<std::uint64_t>(*rc::gen::arbitrary<std::uint64_t>() >> *rc::gen::inRange(0, 64), 1);
    const Divisor divisor(d);
    const auto x = *rc::gen::arbitrary<std::uint64_t>() >> *rc::gen::inRange(0, 64);
    const std::uint64_t quotients[] = {0, 1, x / d, ~std::uint64_t{0} / d};
    for (const std::uint64_t q : quotients)
      for (const std::uint64_t n : {x, q * d, q * d - 1, q * d + 1, ~std::uint64_t{0}}) {
        RC_ASSERT(divisor.divide(n).quotient == n / d);
        RC_ASSERT(divisor.divide(n).remainder == n % d);
      }
  }));
}

}  // namespace
}  // namespace headrace
