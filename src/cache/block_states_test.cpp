#include "cache/block_states.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <thread>

#include "cache/filler.h"
#include "cache/testing/processes.h"

namespace headrace {
namespace {

using namespace std::chrono_literals;
using namespace testing_processes;
using Claim = BlockStates::Claim;

/// Memory that children share.
class BlockStatesTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kBlocks = 100, kBytes = 4096;
  BlockStatesTest()
      : memory_(static_cast<std::byte*>(
            ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))),
        states_(memory_, kBlocks) {}
  ~BlockStatesTest() override { ::munmap(memory_, kBytes); }
  std::byte* const memory_;
  BlockStates states_;
};

TEST(Filler, KnowsTheLivingFromTheDead) {
  EXPECT_TRUE(filler_is_alive(filler_of_this_process()));
  const auto word_of_child = [](std::atomic<std::uint32_t>* out) {
    return start([out] {
      *out = filler_of_this_process();
      ::pause();
      return 0;
    });
  };
  void* const memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* const word = new (memory) std::atomic<std::uint32_t>(0);
  const pid_t pid = word_of_child(word);
  while (*word == 0) std::this_thread::sleep_for(1ms);
  EXPECT_NE(*word, filler_of_this_process());
  EXPECT_TRUE(filler_is_alive(*word));
  EXPECT_FALSE(filler_is_alive(*word ^ (1u << 25)));  // another process had this pid before
  ::kill(pid, SIGKILL);
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
  EXPECT_FALSE(filler_is_alive(*word));  // a zombie
  join(pid);
  EXPECT_FALSE(filler_is_alive(*word));
  EXPECT_FALSE(filler_is_alive(filler_of_this_process() ^ (1u << 25)));
  ::munmap(memory, 4096);
  EXPECT_NE(pid_namespace_id(), 0u);
}

TEST_F(BlockStatesTest, ABlockOfADeadProcessIsFilledByAnother) {
  const pid_t pid = start([&] { return states_.claim(3) == Claim::kFill && states_.claim(4) == Claim::kFill ? 0 : 1; });
  EXPECT_EQ(join(pid), 0);
  EXPECT_EQ(states_.claim(3), Claim::kFill);  // by taking it,
  EXPECT_FALSE(states_.wait(4, 1h));          // or by waiting for it
  EXPECT_EQ(states_.claim(4), Claim::kFill);
}

TEST_F(BlockStatesTest, WaitingEndsWhenTheFillerIsKilled) {
  const pid_t pid = start([&] {
    (void)states_.claim(0);
    ::pause();
    return 0;
  });
  while (states_.claim(0) != Claim::kBusy) {
    states_.abandon(0);
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_FALSE(states_.wait(0, 1ms));
  std::thread killer([&] {
    std::this_thread::sleep_for(5ms);
    ::kill(pid, SIGKILL);  // not reaped: a zombie counts as dead
  });
  EXPECT_FALSE(states_.wait(0, 1h));
  killer.join();
  join(pid);
}

TEST_F(BlockStatesTest, AnotherProcessWakesThoseThatWait) {
  ASSERT_EQ(states_.claim(0), Claim::kFill);
  const pid_t pid = start([&] { return states_.wait(0, 1h) ? 0 : 1; });
  std::this_thread::sleep_for(5ms);
  states_.publish(0);
  EXPECT_EQ(join(pid), 0);
}

TEST_F(BlockStatesTest, WhoLostABlockCannotPublishIt) {
  ASSERT_EQ(join(start([&] { return states_.claim(0) == Claim::kFill ? 0 : 1; })), 0);
  EXPECT_FALSE(states_.publish(0));
  EXPECT_FALSE(states_.ready(0));
  EXPECT_EQ(states_.ready_blocks(), 0u);
}

TEST_F(BlockStatesTest, ProcessesFillEveryBlockOnceAndOneSeesTheLast) {
  std::vector<pid_t> children;
  for (std::uint64_t child = 0; child < 4; ++child)
    children.push_back(start([&, child] {
      int lasts = 0;
      for (std::uint64_t i = 0; i < kBlocks; ++i) {
        const std::uint64_t block = (i + child * 25) % kBlocks;
        if (states_.claim(block) == Claim::kFill && states_.publish(block)) ++lasts;
        while (!states_.ready(block)) states_.wait(block, 1s);
      }
      return lasts;
    }));
  int lasts = 0;
  for (const pid_t pid : children) lasts += join(pid);
  EXPECT_EQ(lasts, 1);
  EXPECT_TRUE(states_.complete());
  EXPECT_EQ(states_.ready_blocks(), kBlocks);
}

TEST_F(BlockStatesTest, OnlyOneProcessFinishes) {
  EXPECT_TRUE(states_.claim_finish());
  EXPECT_EQ(join(start([&] { return states_.claim_finish() ? 1 : 0; })), 0);
  states_.gave_up();
  EXPECT_EQ(join(start([&] { return states_.claim_finish() ? 0 : 1; })), 0);  // and dies
  EXPECT_TRUE(states_.claim_finish());
  EXPECT_FALSE(states_.is_finished());
  states_.finished();
  EXPECT_TRUE(states_.is_finished());
  EXPECT_FALSE(states_.claim_finish());
}

TEST_F(BlockStatesTest, WhatAFormerRunLeftIsVerifiedAndTheLastBlockFilledAnew) {
  for (std::uint64_t block = 0; block < kBlocks; ++block) {
    ASSERT_EQ(states_.claim(block), Claim::kFill);
    if (block != 7) states_.publish(block);
  }
  BlockStates later(memory_, kBlocks);
  later.adopt();
  EXPECT_EQ(later.ready_blocks(), 0u);
  EXPECT_EQ(later.claim(7), Claim::kFill);
  EXPECT_FALSE(later.publish(7));
  EXPECT_FALSE(later.ready(8));
  EXPECT_FALSE(later.wait(8, 1h));
  EXPECT_EQ(later.claim(8), Claim::kVerify);
  EXPECT_EQ(later.claim(8), Claim::kBusy);
  EXPECT_TRUE(later.verified(8));
  EXPECT_EQ(later.claim(9), Claim::kVerify);
  later.abandon(9);  // it was damaged
  EXPECT_EQ(later.claim(9), Claim::kFill);
  later.publish(9);
  for (std::uint64_t block = 0; block < kBlocks; ++block) {
    const Claim claim = later.claim(block);
    if (claim == Claim::kReady) continue;
    ASSERT_EQ(claim, Claim::kVerify);
    EXPECT_EQ(later.verified(block), block != kBlocks - 1);
  }
  EXPECT_FALSE(later.complete());
  EXPECT_TRUE(later.publish(kBlocks - 1));
  EXPECT_TRUE(later.complete());
}

}  // namespace
}  // namespace headrace
