#include "order/stream_shares.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <numeric>
#include <set>

namespace headrace {
namespace {

TEST(StreamShares, DigitReversalIsAPermutation) {
  for (std::uint32_t v : {1u, 2u, 3u, 7u, 12u, 32u, 64u, 96u, 192u}) {
    const auto phase = digit_reversal(stream_radices(v));
    EXPECT_EQ(std::set<std::uint32_t>(phase.begin(), phase.end()).size(), v);
    EXPECT_EQ(phase[0], 0u);
  }
  EXPECT_EQ(digit_reversal({2, 2, 2}), (std::vector<std::uint32_t>{0, 4, 2, 6, 1, 5, 3, 7}));
}

TEST(StreamShares, EveryBatchSumsToItsSizeAndAllStreamsEndTogether) {
  EXPECT_TRUE(rc::check([] {
    const auto streams = *rc::gen::inRange<std::uint32_t>(1, 70);
    const auto rows = *rc::gen::inRange<std::uint64_t>(0, 5000);
    const StreamShares shares(streams, rows);
    std::uint64_t total = 0;
    for (std::uint32_t v = 0; v < streams; ++v) {
      total += shares.length(v);
      RC_ASSERT(shares.delivered(v, 0) == 0u);
    }
    RC_ASSERT(total == rows);
    for (std::uint64_t n = 0; n < rows;) {  // batches of any sizes
      const std::uint64_t end = std::min(rows, n + *rc::gen::inRange<std::uint64_t>(1, 300));
      std::uint64_t sum = 0;
      for (std::uint32_t v = 0; v < streams; ++v) sum += shares.delivered(v, end) - shares.delivered(v, n);
      RC_ASSERT(sum == end - n);
      n = end;
    }
  }));
}

TEST(StreamShares, ContiguousGroupsGetEqualSharesFromAnyPosition) {  // what ranks rest on
  for (std::uint32_t streams : {32u, 64u, 96u})
    for (std::uint64_t batch : {512u, 1024u, 1536u, 960u})
      for (std::uint32_t world : {2u, 4u, 8u, 16u}) {
        if (batch % world) continue;
        const StreamShares shares(streams, 100 * batch);
        for (std::uint64_t n : {0ul, batch, 17 * batch, 1ul, 12345ul})
          for (std::uint32_t r = 0; r < world; ++r) {
            std::uint64_t sum = 0;
            for (std::uint32_t v = r * streams / world; v < (r + 1) * streams / world; ++v)
              sum += shares.delivered(v, n + batch) - shares.delivered(v, n);
            EXPECT_EQ(sum, batch / world);
          }
      }
}

}  // namespace
}  // namespace headrace
