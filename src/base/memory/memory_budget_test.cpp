#include "base/memory/memory_budget.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

namespace headrace {
namespace {

TEST(MemoryBudget, GrantsUpToTheLimitAndTakesBack) {
  const auto budget = MemoryBudget::create("test", 1000);
  auto a = budget->try_reserve(MemoryTag::kScratch, 600).value();
  EXPECT_EQ(a.bytes(), 600u);
  EXPECT_EQ(budget->free_bytes(), 400u);
  EXPECT_FALSE(budget->try_reserve(MemoryTag::kIndex, 401).ok());
  auto b = budget->try_reserve(MemoryTag::kIndex, 400).value();
  EXPECT_EQ(budget->free_bytes(), 0u);
  a.release();
  a.release();
  EXPECT_EQ(budget->free_bytes(), 600u);
  const auto state = budget->snapshot();
  EXPECT_EQ(state.used_bytes, 400u);
  EXPECT_EQ(state.peak_bytes, 1000u);
  EXPECT_EQ(state.used_by_tag[static_cast<int>(MemoryTag::kScratch)], 0u);
  EXPECT_EQ(state.peak_by_tag[static_cast<int>(MemoryTag::kScratch)], 600u);
  EXPECT_EQ(state.used_by_tag[static_cast<int>(MemoryTag::kIndex)], 400u);
}

TEST(MemoryBudget, RefusalSaysWhoHoldsWhat) {
  const auto budget = MemoryBudget::create("loader", 1 << 30);
  const auto held = budget->try_reserve(MemoryTag::kWindowSlots, 900 << 20).value();
  const auto refused = budget->try_reserve(MemoryTag::kReadBuffers, 512 << 20);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kOutOfBudget);
  EXPECT_STREQ(refused.error().what(),
               "512 MiB for read buffers do not fit the memory budget of the loader: 124 MiB of 1.00 GiB are free; "
               "in use: window slots 900 MiB");
  EXPECT_FALSE(budget->try_reserve(MemoryTag::kOther, ~std::uint64_t{0}).ok()) << "no overflow";
}

TEST(MemoryBudget, ChildrenShareWhatTheParentHas) {
  const auto process = MemoryBudget::create("process", 1000);
  const auto a = process->child("a", 800), b = process->child("b", 5000);
  const auto held = a->try_reserve(MemoryTag::kScratch, 700).value();
  EXPECT_EQ(a->free_bytes(), 100u);
  EXPECT_EQ(b->free_bytes(), 300u);
  const auto refused = b->try_reserve(MemoryTag::kScratch, 400);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(std::string(refused.error().what()).find("budget of the process"), std::string::npos);
  EXPECT_EQ(b->snapshot().used_bytes, 0u) << "all or nothing";
  EXPECT_EQ(process->snapshot().used_bytes, 700u);
}

TEST(MemoryBudget, LimitMayFallBelowWhatIsHeld) {
  const auto budget = MemoryBudget::create("test", 1000);
  auto held = budget->try_reserve(MemoryTag::kScratch, 800).value();
  budget->set_limit(500);
  EXPECT_EQ(budget->free_bytes(), 0u);
  EXPECT_FALSE(budget->try_reserve(MemoryTag::kScratch, 1).ok());
  ASSERT_TRUE(held.resize(400).ok());
  EXPECT_EQ(budget->free_bytes(), 100u);
}

TEST(MemoryReservation, ResizesMovesAndOutlivesTheHandleOfItsBudget) {
  auto budget = MemoryBudget::create("test", 100);
  auto a = budget->try_reserve(MemoryTag::kOther, 50).value();
  EXPECT_FALSE(a.resize(101).ok());
  EXPECT_EQ(a.bytes(), 50u);
  EXPECT_TRUE(a.resize(100).ok());
  MemoryReservation b = std::move(a);
  EXPECT_EQ(b.bytes(), 100u);
  EXPECT_EQ(a.bytes(), 0u);  // NOLINT: a moved-from reservation holds nothing
  MemoryReservation c;
  EXPECT_TRUE(c.resize(0).ok());
  EXPECT_FALSE(c.resize(1).ok());
  c = std::move(b);
  EXPECT_EQ(budget->free_bytes(), 0u);
  c = MemoryReservation();
  EXPECT_EQ(budget->free_bytes(), 100u);
  c = budget->try_reserve(MemoryTag::kOther, 10).value();
  budget.reset();
}

TEST(MemoryBudget, AccountsAddUpUnderRandomUse) {
  EXPECT_TRUE(rc::check([] {
    const auto process = MemoryBudget::create("process", 10'000);
    const std::vector<std::shared_ptr<MemoryBudget>> budgets{process, process->child("a", 6'000),
                                                             process->child("b", 20'000)};
    std::vector<std::pair<std::size_t, MemoryReservation>> held;
    const auto steps = *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::arbitrary<std::uint32_t>());
    for (const std::uint32_t step : steps) {
      const std::size_t who = step % 3;
      const std::uint64_t bytes = (step / 3) % 5'000;
      if (step % 7 == 0 && !held.empty()) {
        held.erase(held.begin() + static_cast<long>(step / 7 % held.size()));
      } else {
        const bool fits = bytes <= budgets[who]->free_bytes();
        auto got = budgets[who]->try_reserve(static_cast<MemoryTag>(step % kMemoryTagCount), bytes);
        RC_ASSERT(got.ok() == fits);
        if (fits) held.emplace_back(who, std::move(*got));
      }
      std::array<std::uint64_t, 3> sums{};
      for (const auto& [owner, reservation] : held) {
        sums[owner] += reservation.bytes();
        if (owner != 0) sums[0] += reservation.bytes();
      }
      for (std::size_t b = 0; b < 3; ++b) {
        const auto state = budgets[b]->snapshot();
        std::uint64_t by_tag = 0;
        for (const std::uint64_t used : state.used_by_tag) by_tag += used;
        RC_ASSERT(state.used_bytes == sums[b] && by_tag == sums[b]);
        RC_ASSERT(state.used_bytes <= state.peak_bytes && state.peak_bytes <= state.limit_bytes);
      }
    }
  }));
}

TEST(MemoryBudget, ThreadsNeverHoldMoreThanTheLimit) {
  const auto budget = MemoryBudget::create("test", 1000);
  std::atomic<std::uint64_t> held{0}, most{0};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < 3000; ++i) {
        const std::uint64_t bytes = (i * 37 + t * 101) % 700;
        auto got = budget->try_reserve(MemoryTag::kScratch, bytes);
        if (!got.ok()) continue;
        const std::uint64_t now = held.fetch_add(bytes) + bytes;
        for (std::uint64_t seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        held.fetch_sub(bytes);
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_LE(most, 1000u);
  EXPECT_EQ(budget->snapshot().used_bytes, 0u);
}

TEST(MemoryBudget, AChildOfForkBeginsWithNothingHeld) {
  const auto root = MemoryBudget::create("root", 100);
  const auto below = root->child("loader", 90);
  MemoryReservation held = below->try_reserve(MemoryTag::kWindowSlots, 80).value();
  MemoryReservation empty = below->try_reserve(MemoryTag::kOther, 0).value();
  const pid_t child = ::fork();
  if (child == 0) {
    if (root->free_bytes() != 100 || below->free_bytes() != 90) ::_exit(1);
    auto own = root->try_reserve(MemoryTag::kScratch, 100);
    if (!own.ok() || root->snapshot().used_by_tag[static_cast<std::size_t>(MemoryTag::kWindowSlots)] != 0) ::_exit(2);
    held.release();  // the parent's: nothing comes back
    if (root->free_bytes() != 0 || below->snapshot().used_bytes != 0) ::_exit(3);
    own->release();
    if (!empty.resize(10).ok()) ::_exit(5);
    empty.release();  // the child's own: all of it comes back
    ::_exit(root->free_bytes() == 100 && root->snapshot().peak_bytes == 100 ? 0 : 4);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(root->free_bytes(), 20u);  // untouched by what the child did
  held.release();
  EXPECT_EQ(root->free_bytes(), 100u);
}

TEST(MemoryBudget, ProcessBudgetHasADefaultAndCanBeSet) {
  const auto process = MemoryBudget::process();
  EXPECT_EQ(process.get(), MemoryBudget::process().get());
  EXPECT_GT(process->limit_bytes(), 1u << 20);
  EXPECT_FALSE(set_process_memory(0).ok());
  const std::uint64_t before = process->limit_bytes();
  ASSERT_TRUE(set_process_memory(12345).ok());
  EXPECT_EQ(process->limit_bytes(), 12345u);
  ASSERT_TRUE(set_process_memory(before).ok());
}

}  // namespace
}  // namespace headrace
