#include "base/notices.h"

#include <gtest/gtest.h>

#include <thread>

namespace headrace {
namespace {

TEST(Notices, EachTextOnceInTheOrderInWhichItCame) {
  Notices notices;
  EXPECT_EQ(notices.count(), 0u);
  for (const char* text : {"b", "a", "b", "c", "a"}) notices.add(Notices::Of::kRun, text);
  EXPECT_EQ(notices.all(), (std::vector<std::string>{"b", "a", "c"}));
  EXPECT_EQ(notices.count(), 3u);
}

TEST(Notices, KnowWhetherTheyAreOfThePlan) {
  Notices notices;
  notices.add(Notices::Of::kPlan, "a");
  notices.add(Notices::Of::kRun, "b");
  notices.add(Notices::Of::kPlan, "c");
  EXPECT_EQ(notices.all(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(notices.all(Notices::Of::kPlan), (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(notices.all(Notices::Of::kRun), std::vector<std::string>{"b"});
}

TEST(Notices, AreBoundedAndSayThatThereWereMore) {
  Notices notices;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 200; ++i) notices.add(Notices::Of::kPlan, std::to_string(t * 1000 + i));
      });
  }
  const std::vector<std::string> all = notices.all();
  ASSERT_EQ(all.size(), Notices::kMost + 1);
  EXPECT_EQ(notices.count(), all.size());
  EXPECT_NE(all.back().find("more of this kind"), std::string::npos);
}

}  // namespace
}  // namespace headrace
