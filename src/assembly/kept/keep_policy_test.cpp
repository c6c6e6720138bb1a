#include "assembly/kept/keep_policy.h"

#include <gtest/gtest.h>

#include <limits>

namespace headrace {
namespace {

constexpr std::uint64_t kBlock = 1000;
constexpr KeepPolicy::Moment kWaiting{}, kAhead{.ahead = true}, kAgain{.wanted_again = true};

TEST(KeepPolicy, AConsumerThatWaitsPaysTheShareAndNoMore) {
  KeepPolicy policy(0.1);
  std::uint64_t kept_ns = 0;
  int kept = 0;
  for (int block = 0; block < 1000; ++block) {
    const bool keeps = policy.allows(kWaiting);
    policy.add_decode(kWaiting, kBlock, 100, keeps ? 50 : 0);
    kept_ns += keeps ? 50 : 0;
    kept += keeps;
    EXPECT_LE(kept_ns, 10u * (block + 1) + 50);
  }
  EXPECT_EQ(kept, 200);
}

TEST(KeepPolicy, WhatKeptBlocksSaveIsSpentOnMore) {
  // Epochs of 100 blocks that cost 100 to decode, 60 to keep and 20 to serve from where they are kept.
  KeepPolicy policy(0.1);
  int kept = 0, epochs = 0;
  for (; kept < 100; ++epochs) {
    ASSERT_LT(epochs, 6);
    int more = 0;
    for (int block = 0; block < 100; ++block) {
      if (block < kept) {
        policy.add_hit(kBlock, 20);
        continue;
      }
      const bool keeps = policy.allows(kWaiting);
      policy.add_decode(kWaiting, kBlock, 100, keeps ? 60 : 0);
      more += keeps;
    }
    kept += more;
    if (epochs == 0) {
      EXPECT_NEAR(kept, 17, 1);
    }
    const KeepPolicy::Totals t = policy.totals();
    EXPECT_LE(t.owed_ns, (t.decode_ns + t.hit_ns) / 10 + t.saved_ns + 60);
  }
  EXPECT_GE(epochs, 3);  // not all at once either
}

TEST(KeepPolicy, TimeThatNobodyWaitsForIsFree) {
  KeepPolicy policy(0.1);
  for (int block = 0; block < 100; ++block) {
    EXPECT_TRUE(policy.allows(kAhead));
    policy.add_decode(kAhead, kBlock, 100, 200);
  }
  EXPECT_EQ(policy.totals().owed_ns, 0u);
  EXPECT_TRUE(policy.allows(kWaiting));  // and is not held against later blocks
}

TEST(KeepPolicy, ABlockThatIsNeededAgainIsKeptUnlessThatCostsTwoDecodes) {
  for (const std::uint64_t keep_ns : {180, 220}) {
    KeepPolicy policy(0);
    policy.add_decode(kAgain, kBlock, 100, keep_ns);
    EXPECT_EQ(policy.allows(kAgain), keep_ns < 200);
    EXPECT_FALSE(policy.allows(kWaiting));
  }
}

TEST(KeepPolicy, NothingDelaysTheFirstBatch) {
  KeepPolicy policy(0.1);
  constexpr KeepPolicy::Moment kStarting{.starting = true};
  EXPECT_FALSE(policy.allows(kStarting));
  EXPECT_TRUE(policy.allows({.wanted_again = true, .starting = true}));  // or it would be decoded twice
  policy.add_decode(kStarting, kBlock, 1000, 0);
  EXPECT_TRUE(policy.allows(kWaiting));
  policy.keep_everything();
  EXPECT_TRUE(policy.allows(kStarting));
}

TEST(KeepPolicy, WhatWasAskedForIsKeptAtAnyCost) {
  KeepPolicy policy(0);
  policy.add_decode(kWaiting, kBlock, 100, 1000);
  EXPECT_FALSE(policy.allows(kWaiting));
  policy.keep_everything();
  EXPECT_TRUE(policy.allows(kWaiting));
  KeepPolicy without_limit(std::numeric_limits<double>::infinity());
  EXPECT_TRUE(without_limit.allows(kWaiting));  // 0 of 0 work
  without_limit.add_decode(kWaiting, kBlock, 1, 1000);
  EXPECT_TRUE(without_limit.allows(kWaiting));
}

}  // namespace
}  // namespace headrace
