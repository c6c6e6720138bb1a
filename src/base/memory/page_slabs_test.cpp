#include "base/memory/page_slabs.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <fstream>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "base/testing/failing_new.h"

namespace headrace {
namespace {

constexpr std::uint64_t kSlabMiB = 1 << 20;

struct Mappings {
  std::uint64_t count = 0, size_bytes = 0;
};
/// Count readable mappings of 1 MiB or more: the allocator of AddressSanitizer makes small ones at any time, and
/// divides address space that it has set aside.
Mappings mappings() {
  std::ifstream maps("/proc/self/maps");
  Mappings found;
  std::uint64_t begin = 0, end = 0;
  char dash = 0;
  for (std::string rest; maps >> std::hex >> begin >> dash >> end && std::getline(maps, rest);)
    if (end - begin >= kSlabMiB && rest.starts_with(" r")) {
      ++found.count;
      found.size_bytes += end - begin;
    }
  return found;
}

TEST(PageSlabs, ManyBuffersAreFewMappings) {
  const auto budget = MemoryBudget::create("test", std::uint64_t{1} << 40);
  const auto slabs = PageSlabs::create();
  const Mappings before = mappings();
  ASSERT_GT(before.count, 0u);
  std::vector<PageBuffer> buffers;
  for (int i = 0; i < 1000; ++i)
    buffers.push_back(*slabs->allocate(*budget, MemoryTag::kBlockCache, 5 * kSlabMiB / 2 + 100));
  EXPECT_LE(mappings().count, before.count + 2 * slabs->usage().slabs);
  EXPECT_LE(slabs->usage().slabs, 10u);  // 2.5 GiB
  EXPECT_EQ(slabs->usage().used_bytes, 1000 * buffers[0].charged_bytes());
  EXPECT_EQ(budget->snapshot().used_bytes, slabs->usage().used_bytes);
  buffers.clear();
  EXPECT_EQ(slabs->usage().slabs, 0u);
  EXPECT_EQ(budget->snapshot().used_bytes, 0u);
  EXPECT_LE(mappings().count, before.count + 1);
  // Neighbours become one mapping, so counting is not enough.
  EXPECT_LE(mappings().size_bytes, before.size_bytes + 256 * kSlabMiB);
}

TEST(PageSlabs, BuffersAreGivenBackWhereNoMemoryIsLeft) {
  const auto budget = MemoryBudget::create("test", std::uint64_t{1} << 40);
  const auto slabs = PageSlabs::create();
  std::vector<PageBuffer> buffers;
  for (int i = 0; i < 5; ++i) buffers.push_back(*slabs->allocate(*budget, MemoryTag::kBlockCache, kSlabMiB));
  std::byte* const second = buffers[1].data();
  {
    const testing::FailingNew none("", 1, 1000);
    for (const std::size_t i : {1u, 3u, 2u}) buffers[i] = PageBuffer();  // a hole, another, and one that joins them
    EXPECT_EQ(none.failed(), 0u);
  }
  EXPECT_EQ(slabs->usage().used_bytes, 2 * kSlabMiB);
  EXPECT_EQ(slabs->allocate(*budget, MemoryTag::kBlockCache, 3 * kSlabMiB)->data(), second);
}

TEST(PageSlabs, BuffersOfAnySizeDoNotOverlapAndBeginWithZeros) {
  const auto budget = MemoryBudget::create("test", std::uint64_t{1} << 40);
  const auto slabs = PageSlabs::create();
  std::mt19937 random(1);
  struct Held {
    PageBuffer buffer;
    int value;
  };
  std::vector<Held> held;
  const auto check_and_drop = [&](std::size_t i) {
    for (const std::byte b : held[i].buffer.bytes()) ASSERT_EQ(b, static_cast<std::byte>(held[i].value));
    std::swap(held[i], held.back());
    held.pop_back();
  };
  for (int i = 0; i < 2000; ++i) {
    if (held.size() > 40) check_and_drop(random() % held.size());
    PageBuffer buffer = *slabs->allocate(*budget, MemoryTag::kBlockCache, random() % 60000);
    for (const std::byte b : buffer.bytes()) ASSERT_EQ(b, std::byte{0});
    const int value = 1 + i % 255;
    if (buffer.size_bytes()) std::memset(buffer.data(), value, buffer.size_bytes());
    held.push_back({std::move(buffer), value});
  }
  EXPECT_EQ(slabs->usage().slabs, 1u);  // places are used again
  std::uint64_t charged = 0;
  for (const Held& h : held) charged += h.buffer.charged_bytes();
  EXPECT_EQ(slabs->usage().used_bytes, charged);
  while (!held.empty()) check_and_drop(held.size() - 1);
  EXPECT_EQ(slabs->usage().mapped_bytes, 0u);
}

TEST(PageSlabs, ABufferLargerThanASlabHasOneOfItsOwn) {
  const auto budget = MemoryBudget::create("test", std::uint64_t{100} * kSlabMiB);
  auto slabs = PageSlabs::create();
  PageBuffer large = *slabs->allocate(*budget, MemoryTag::kBlockCache, 50 * kSlabMiB);
  EXPECT_EQ(slabs->usage().mapped_bytes, 50 * kSlabMiB);
  EXPECT_FALSE(slabs->allocate(*budget, MemoryTag::kBlockCache, 51 * kSlabMiB).ok());
  slabs.reset();
  large.data()[50 * kSlabMiB - 1] = std::byte{1};  // it lives as long as its buffers
  large.reset();
  EXPECT_EQ(budget->snapshot().used_bytes, 0u);
}

// The n-th allocation fails, for every n: nothing is lost, and giving back never needs one.
TEST(PageSlabs, MemoryThatEndsLosesNoPlace) {
  const auto budget = MemoryBudget::create("test", std::uint64_t{100} * kSlabMiB);
  for (int n = 1, failed = 1; failed != 0; ++n) {
    ASSERT_LT(n, 100);
    const auto slabs = PageSlabs::create();
    std::vector<PageBuffer> held(8);
    {
      const testing::FailingNew no_memory("", n, 1000);
      for (PageBuffer& buffer : held) {
        try {
          if (auto made = slabs->allocate(*budget, MemoryTag::kBlockCache, 10'000); made.ok())
            buffer = std::move(*made);
        } catch (const std::bad_alloc&) {
          break;
        }
      }
      for (std::size_t i = 0; i < held.size(); i += 2) held[i].reset();  // holes that touch nothing
      failed = static_cast<int>(no_memory.failed());
    }
    std::uint64_t charged = 0;
    for (const PageBuffer& buffer : held) charged += buffer.charged_bytes();
    EXPECT_EQ(slabs->usage().used_bytes, charged);
    EXPECT_EQ(budget->snapshot().used_bytes, charged);
    EXPECT_LE(slabs->usage().slabs, 1u);
    const std::uint64_t holes = 4 * PageBuffer::charge_for(10'000);
    PageBuffer all = *slabs->allocate(*budget, MemoryTag::kBlockCache, 16 * kSlabMiB - charged - holes);
    EXPECT_EQ(slabs->usage().slabs, 1u) << "the rest of the slab is there";
    held.clear();
    all.reset();
    EXPECT_EQ(slabs->usage().mapped_bytes, 0u);
    EXPECT_EQ(budget->snapshot().used_bytes, 0u);
  }
}

TEST(PageSlabs, LockedMemoryBeginsWithZerosToo) {
  const auto budget = MemoryBudget::create("test", std::uint64_t{100} * kSlabMiB);
  const auto slabs = PageSlabs::create();
  PageBuffer locked = *slabs->allocate(*budget, MemoryTag::kBlockCache, 4096);
  const PageBuffer other = *slabs->allocate(*budget, MemoryTag::kBlockCache, 4096);  // so that the slab stays
  std::byte* const data = locked.data();
  if (::mlock(data, 4096) != 0) GTEST_SKIP() << "this process may lock no memory (ulimit -l)";
  std::memset(data, 7, 4096);
  locked.reset();
  const PageBuffer again = *slabs->allocate(*budget, MemoryTag::kBlockCache, 4096);
  ::munlock(data, 4096);
  ASSERT_EQ(again.data(), data);
  for (const std::byte b : again.bytes()) ASSERT_EQ(b, std::byte{0});
}

}  // namespace
}  // namespace headrace
