#include "demo/ordered_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace headrace::demo {
namespace {

TEST(OrderedQueue, ComesOutInOrderWhateverTheThreadsDo) {
  constexpr std::uint64_t kItems = 2000;
  OrderedQueue<std::uint64_t> queue(64);  // room for about six of these items
  std::atomic<std::uint64_t> claimed{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 5; ++i) {
    threads.emplace_back([&] {
      for (std::uint64_t n = claimed++; n < kItems; n = claimed++) ASSERT_TRUE(queue.push(n, 1 + n % 20, n));
    });
  }
  for (std::uint64_t expected = 0; expected < kItems; ++expected) {
    std::uint64_t item = 0;
    ASSERT_TRUE(queue.pop(item));
    ASSERT_EQ(item, expected);
  }
}

TEST(OrderedQueue, TheNextItemEntersAFullQueue) {
  OrderedQueue<int> queue(10);
  ASSERT_TRUE(queue.push(1, 10, 1));  // full, but not the next one
  ASSERT_TRUE(queue.push(0, 1'000, 0));
  int item = -1;
  ASSERT_TRUE(queue.pop(item));
  EXPECT_EQ(item, 0);
  ASSERT_TRUE(queue.pop(item));
  EXPECT_EQ(item, 1);
}

TEST(OrderedQueue, CloseLetsBothSidesGo) {
  OrderedQueue<int> queue(1);
  ASSERT_TRUE(queue.push(1, 1, 1));
  bool pushed = true, popped = true;
  {
    std::jthread pusher([&] { pushed = queue.push(2, 1, 2); });  // no room
    std::jthread popper([&] {
      int item = 0;
      popped = queue.pop(item);  // item 0 never comes
    });
    queue.close();
  }
  EXPECT_FALSE(pushed);
  EXPECT_FALSE(popped);
}

}  // namespace
}  // namespace headrace::demo
