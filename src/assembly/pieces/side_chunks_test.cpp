#include "assembly/pieces/side_chunks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <thread>
#include <vector>

namespace headrace {
namespace {

constexpr std::uint64_t kBytes = 4096;

Result<DecodedPart> part(std::byte value) {
  DecodedPart p;
  p.rows = {0, 1};
  p.row_stride_bytes = kBytes;
  HEADRACE_ASSIGN(p.data, PageBuffer::allocate(kBytes));
  p.data.data()[0] = value;
  return p;
}

TEST(SideChunks, KeepsThoseUsedLast) {
  SideChunks chunks(2 * PageBuffer::charge_for(kBytes));
  int decodes = 0;
  const auto get = [&](std::uint64_t piece) {
    auto got = chunks.get({0, 0, piece}, [&] { return ++decodes, part(std::byte(piece)); });
    EXPECT_EQ((*got)->data.data()[0], std::byte(piece));
  };
  get(1), get(2), get(1);
  EXPECT_EQ(decodes, 2);
  get(3);  // 2 was used longest ago
  get(1);
  EXPECT_EQ(decodes, 3);
  get(2);
  EXPECT_EQ(decodes, 4);
  chunks.clear();
  get(2);
  EXPECT_EQ(decodes, 5);
}

TEST(SideChunks, OneThreadDecodesForAll) {
  SideChunks chunks(1 << 20);
  std::atomic<int> decodes{0}, inside{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      ++inside;
      auto got = chunks.get({1, 2, 3}, [&] {
        while (inside < 4) std::this_thread::yield();  // the others are on their way
        ++decodes;
        return part(std::byte{7});
      });
      EXPECT_EQ((*got)->data.data()[0], std::byte{7});
    });
  threads.clear();
  EXPECT_EQ(decodes, 1);
}

TEST(SideChunks, AFailureIsNotKept) {
  SideChunks chunks(1 << 20);
  auto bad = chunks.get({0, 0, 0}, []() -> Result<DecodedPart> { return Error(ErrorCode::kCorruptData, "bad"); });
  EXPECT_EQ(bad.error().code(), ErrorCode::kCorruptData);
  EXPECT_TRUE(chunks.get({0, 0, 0}, [] { return part(std::byte{1}); }).ok());
}

/// A decode that throws must leave nothing that others would wait for.
TEST(SideChunks, WhatIsThrownIsAnErrorAndTheNextCallerTriesAgain) {
  SideChunks chunks(2 * PageBuffer::charge_for(kBytes));
  const auto thrown = chunks.get({0, 0, 1}, []() -> Result<DecodedPart> { throw std::bad_alloc(); });
  ASSERT_FALSE(thrown.ok());
  EXPECT_EQ(thrown.error().code(), ErrorCode::kOutOfBudget);
  EXPECT_TRUE(chunks.get({0, 0, 1}, [] { return part(std::byte{1}); }).ok());
}

}  // namespace
}  // namespace headrace
