#include "base/memory/page_buffer.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

#include "base/machine/cgroup.h"

namespace headrace {
namespace {

TEST(PageBuffer, IsAlignedZeroedAndMovable) {
  for (const std::uint64_t size :
       {std::uint64_t{1}, std::uint64_t{4096}, std::uint64_t{5000}, (std::uint64_t{2} << 20) - 1,
        std::uint64_t{2} << 20, (std::uint64_t{5} << 20) + 3}) {
    PageBuffer a = PageBuffer::allocate(size).value();
    ASSERT_EQ(a.size_bytes(), size);
    EXPECT_GE(a.charged_bytes(), size);
    EXPECT_LT(a.charged_bytes(), size + static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
    const std::uintptr_t alignment = a.charged_bytes() >= 2 << 20 ? 2 << 20 : 4096;
    EXPECT_EQ(std::bit_cast<std::uintptr_t>(a.data()) % alignment, 0u);
    EXPECT_TRUE(std::ranges::all_of(a.bytes(), [](std::byte b) { return b == std::byte{0}; }));
    std::ranges::fill(a.bytes(), std::byte{0xAB});
    std::byte* const data = a.data();
    PageBuffer b = std::move(a);
    EXPECT_EQ(a.data(), nullptr);  // NOLINT: moved from on purpose
    EXPECT_EQ(b.data(), data);
    EXPECT_EQ(b.bytes().back(), std::byte{0xAB});
    a = std::move(b);
    EXPECT_EQ(a.data(), data);
    a.reset();
    EXPECT_EQ(a.size_bytes(), 0u);
  }
  EXPECT_EQ(PageBuffer::allocate(0).value().data(), nullptr);
}

TEST(PageBuffer, TakesMemoryWhenTouchedAndGivesItBackWhenFreed) {
  const auto resident = [] { return read_keyed_number("/proc/self/status", "RssAnon").value(); };
  const std::uint64_t size = std::uint64_t{64} << 20, slack = std::uint64_t{16} << 20;
  const std::uint64_t before = resident();
  PageBuffer buffer = PageBuffer::allocate(size).value();
  EXPECT_LT(resident(), before + slack) << "nothing is faulted ahead";
  std::ranges::fill(buffer.bytes(), std::byte{1});
  EXPECT_GE(resident() + slack, before + size);
  buffer.reset();
  EXPECT_LT(resident(), before + slack);
}

/// qemu-user 7.2 says yes to advice that it does not know, MADV_POPULATE_WRITE among it, and does nothing.
bool any_advice_is_taken() {
  constexpr int kNoAdvice = 12'345;
  const PageBuffer buffer = PageBuffer::allocate(1).value();
  return ::madvise(buffer.data(), 1, kNoAdvice) == 0;
}

TEST(PageBuffer, MakeResidentTakesThePagesAndLeavesTheirBytes) {
  if (any_advice_is_taken())
    GTEST_SKIP() << "madvise() says yes to what it does not know, as in qemu: no page is populated";
  const auto resident = [] { return read_keyed_number("/proc/self/status", "RssAnon").value(); };
  const std::uint64_t size = std::uint64_t{64} << 20, slack = std::uint64_t{16} << 20;
  PageBuffer buffer = PageBuffer::allocate(size).value();
  const std::span<std::byte> bytes = buffer.bytes();
  bytes[size / 4] = bytes[size / 4 + 5000] = bytes[size - 1] = std::byte{7};
  const std::uint64_t before = resident();
  make_resident(bytes.subspan(size / 2 + 1, size / 2 - 1));
  EXPECT_GE(resident() + slack, before + size / 2);
  EXPECT_LT(resident(), before + size / 2 + slack) << "what was not asked for stays absent";
  make_resident(bytes);
  EXPECT_GE(resident() + slack, before + size);
  EXPECT_EQ(bytes[size / 4], std::byte{7});
  EXPECT_EQ(bytes[size / 4 + 5000], std::byte{7});
  EXPECT_EQ(bytes[size - 1], std::byte{7});
  EXPECT_EQ(bytes[size / 2], std::byte{0});
  make_resident({});
}

TEST(PageBuffer, ImpossibleSizesAreErrors) {
  for (const std::uint64_t size : {std::uint64_t{1} << 60, std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
    const auto got = PageBuffer::allocate(size);
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().code(), ErrorCode::kOutOfBudget);
  }
}

TEST(PageBuffer, ChargesItsBudgetForAsLongAsItLives) {
  const auto budget = MemoryBudget::create("test", 10 << 20);
  {
    PageBuffer a = PageBuffer::allocate(*budget, MemoryTag::kWindowSlots, (6 << 20) + 1).value();
    EXPECT_EQ(budget->snapshot().used_bytes, a.charged_bytes());
    EXPECT_EQ(PageBuffer::allocate(*budget, MemoryTag::kScratch, 6 << 20).error().code(), ErrorCode::kOutOfBudget);
    PageBuffer b = std::move(a);
    EXPECT_EQ(budget->snapshot().used_bytes, b.charged_bytes());
    b.bytes().back() = std::byte{1};
    b.reset();
    EXPECT_EQ(budget->snapshot().used_bytes, 0u);
    a = PageBuffer::allocate(*budget, MemoryTag::kScratch, 100).value();
  }
  EXPECT_EQ(budget->snapshot().used_bytes, 0u);
}

}  // namespace
}  // namespace headrace
