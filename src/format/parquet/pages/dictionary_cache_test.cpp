#include "format/parquet/pages/dictionary_cache.h"

#include <gtest/gtest.h>

#include "base/memory/unplanned_memory.h"

namespace headrace::parquet {
namespace {

std::shared_ptr<const Dictionary> dictionary_of(std::uint64_t bytes) {
  auto made = std::make_shared<Dictionary>();
  made->elements = unplanned_memory(MemoryTag::kScratch, bytes).value();
  return made;
}

TEST(DictionaryCache, KeepsALargeOneAndTheFirstOfTwo) {
  DictionaryCache cache;
  int array = 0;
  const auto first = cache.keep(&array, 0, dictionary_of(40 << 20)), second = cache.keep(&array, 0, dictionary_of(64));
  EXPECT_EQ(first, second) << "two threads that missed it together share one";
  EXPECT_EQ(cache.find(&array, 0), first);
  const std::uint64_t most = std::max<std::uint64_t>(MemoryBudget::process()->limit_bytes() / 4, 64 << 20);
  EXPECT_GE(most, 40U << 20);
  cache.forget(&array);
  EXPECT_EQ(cache.find(&array, 0), nullptr);
}

TEST(DictionaryCache, GivesBackWhatNoPageIsDecodedWith) {
  DictionaryCache cache;
  int array = 0;
  const std::uint64_t before = MemoryBudget::process()->snapshot().used_bytes;
  const auto held = cache.keep(&array, 0, dictionary_of(1 << 20));
  cache.keep(&array, 1, dictionary_of(1 << 20));
  EXPECT_GE(MemoryBudget::process()->snapshot().used_bytes, before + (2 << 20)) << "also while they are in use";
  EXPECT_EQ(cache.reclaimable_bytes(), held->charged_bytes());
  EXPECT_EQ(cache.reclaim(~std::uint64_t{0}), held->charged_bytes());
  EXPECT_EQ(cache.find(&array, 0), held);
  EXPECT_EQ(cache.find(&array, 1), nullptr);
}

}  // namespace
}  // namespace headrace::parquet
