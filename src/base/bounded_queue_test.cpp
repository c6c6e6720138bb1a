#include "base/bounded_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace headrace {
namespace {

TEST(BoundedByteQueue, KeepsOrderAndCountsBytes) {
  BoundedByteQueue<std::unique_ptr<int>> queue(100);
  EXPECT_TRUE(queue.push(std::make_unique<int>(1), 60));
  EXPECT_TRUE(queue.push(std::make_unique<int>(2), 40));
  EXPECT_EQ(queue.held_bytes(), 100u);
  EXPECT_FALSE(queue.try_push(std::make_unique<int>(3), 1));
  EXPECT_EQ(**queue.pop(), 1);
  EXPECT_EQ(queue.held_bytes(), 40u);
  EXPECT_TRUE(queue.try_push(std::make_unique<int>(3), 60));
  EXPECT_EQ(**queue.pop(), 2);
  EXPECT_EQ(**queue.pop(), 3);
  EXPECT_EQ(queue.held_bytes(), 0u);
}

TEST(BoundedByteQueue, LetsOneOversizedItemInWhenEmpty) {
  BoundedByteQueue<int> queue(10);
  EXPECT_TRUE(queue.push(1, 1000));
  EXPECT_FALSE(queue.try_push(2, 0));
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_TRUE(queue.try_push(2, ~std::uint64_t{0}));
  EXPECT_FALSE(queue.try_push(3, 1));
}

TEST(BoundedByteQueue, ClosedQueueDrainsThenEnds) {
  BoundedByteQueue<int> queue(10);
  ASSERT_TRUE(queue.push(1, 1));
  queue.close();
  queue.close();
  EXPECT_FALSE(queue.push(2, 1));
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_EQ(queue.pop(), std::nullopt);
}

TEST(BoundedByteQueue, CloseWakesThoseWhoWait) {
  BoundedByteQueue<int> empty(10), full(10);
  ASSERT_TRUE(full.push(1, 10));
  std::thread consumer([&] { EXPECT_EQ(empty.pop(), std::nullopt); });
  std::thread producer([&] { EXPECT_FALSE(full.push(2, 1)); });
  empty.close();
  full.close();
  consumer.join();
  producer.join();
}

TEST(BoundedByteQueue, StopTokenWakesThoseWhoWait) {
  BoundedByteQueue<int> empty(10), full(10);
  ASSERT_TRUE(full.push(1, 10));
  std::stop_source stop;
  std::thread consumer([&] { EXPECT_EQ(empty.pop(stop.get_token()), std::nullopt); });
  std::thread producer([&] { EXPECT_FALSE(full.push(2, 1, stop.get_token())); });
  stop.request_stop();
  consumer.join();
  producer.join();
  EXPECT_EQ(full.pop(), 1) << "stopping one waiter does not close the queue";
}

TEST(BoundedByteQueue, ManyProducersAndConsumersLoseNothingAndStayInBounds) {
  constexpr int kProducers = 3, kConsumers = 3, kEach = 2000;
  BoundedByteQueue<int> queue(64);
  std::atomic<std::uint64_t> sum{0}, count{0}, over{0};
  std::vector<std::thread> producers, consumers;
  for (int p = 0; p < kProducers; ++p)
    producers.emplace_back([&, p] {
      for (int i = 0; i < kEach; ++i) {
        EXPECT_TRUE(queue.push(p * kEach + i, static_cast<std::uint64_t>(i % 40)));
        if (queue.held_bytes() > 64) ++over;
      }
    });
  for (int c = 0; c < kConsumers; ++c)
    consumers.emplace_back([&] {
      while (const auto item = queue.pop()) {
        sum += static_cast<std::uint64_t>(*item);
        ++count;
      }
    });
  for (auto& thread : producers) thread.join();
  queue.close();
  for (auto& thread : consumers) thread.join();
  constexpr std::uint64_t n = kProducers * kEach;
  EXPECT_EQ(count, n);
  EXPECT_EQ(sum, n * (n - 1) / 2);
  EXPECT_EQ(over, 0u);
}

}  // namespace
}  // namespace headrace
