#include "storage/read_batch.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>

#include "storage/testing/file_doubles.h"
#include "storage/testing/memory_file.h"

namespace headrace {
namespace {

using Bytes = std::vector<std::byte>;

TEST(ReadBatch, MergesNeighboursOverSmallHolesUpToTheTarget) {
  ReadBatch batch({.hole_bytes = 10, .target_bytes = 100});
  const std::vector<ByteRange> ranges{{200, 50}, {0, 20}, {30, 20}, {61, 5}, {66, 60}, {250, 60}};
  EXPECT_EQ(*batch.plan(ranges), 50u + 65 + 50 + 60);
  // 0..20 and 30..50 (hole of 10), then 61.. (hole of 11) starts anew; 250.. would make 110 bytes with 200..
  const std::vector<ByteRange> expected{{0, 50}, {61, 65}, {200, 50}, {250, 60}};
  EXPECT_TRUE(std::equal(batch.merged().begin(), batch.merged().end(), expected.begin(), expected.end()));
  EXPECT_EQ(batch.gap_bytes(), 10u);
}

TEST(ReadBatch, DeliversTheSameBytesAsSingleReads) {
  EXPECT_TRUE(rc::check([] {
    const std::uint64_t file_bytes = *rc::gen::inRange<std::uint64_t>(0, 5000);
    const auto inner = MemoryFile::pattern(file_bytes);
    CountingFile file(inner);
    const CoalesceOptions options{*rc::gen::inRange<std::uint64_t>(0, 200), *rc::gen::inRange<std::uint64_t>(0, 2000)};
    ReadBatch batch(options);
    for (int round = 0; round < 2; ++round) {  // the second use must not remember the first
      const auto ranges = *rc::gen::container<std::vector<ByteRange>>(
          rc::gen::mapcat(rc::gen::inRange<std::uint64_t>(0, file_bytes + 1), [&](std::uint64_t offset) {
            return rc::gen::map(rc::gen::inRange<std::uint64_t>(0, file_bytes - offset + 1),
                                [offset](std::uint64_t size) {
                                  return ByteRange{offset, size};
                                });
          }));
      file.reset();
      const auto needed = batch.plan(ranges);
      RC_ASSERT(needed.ok());
      Bytes buffer(*needed);
      RC_ASSERT(batch.read(file, buffer).ok());
      std::uint64_t longest = 0;
      for (std::size_t i = 0; i < ranges.size(); ++i) {
        longest = std::max(longest, ranges[i].size);
        const auto expected = inner->bytes().subspan(ranges[i].offset, ranges[i].size);
        RC_ASSERT(std::ranges::equal(batch.bytes(i), expected));
      }
      // What is read: the plan, ascending, inside the file, each read within its bound, nothing beyond wanted bytes and
      // holes.
      RC_ASSERT(std::ranges::equal(file.ranges(), batch.merged()));
      std::uint64_t read_bytes = 0, previous = 0;
      for (const ByteRange& range : batch.merged()) {
        RC_ASSERT(range.offset >= previous && range.end() <= file_bytes && range.size > 0);
        RC_ASSERT(range.size <= std::max(options.target_bytes, longest));
        previous = range.offset;
        read_bytes += range.size;
      }
      RC_ASSERT(read_bytes == *needed && read_bytes == batch.buffer_bytes());
      std::vector<char> wanted(file_bytes, 0), touched(file_bytes, 0);
      for (const ByteRange& r : ranges) std::fill_n(wanted.begin() + static_cast<long>(r.offset), r.size, 1);
      for (const ByteRange& r : batch.merged()) std::fill_n(touched.begin() + static_cast<long>(r.offset), r.size, 1);
      std::uint64_t holes = 0;
      for (std::size_t i = 0; i < file_bytes; ++i) {
        RC_ASSERT(!wanted[i] || touched[i]);
        holes += touched[i] && !wanted[i];
      }
      RC_ASSERT(holes <= batch.gap_bytes());
    }
  }));
}

TEST(ReadBatch, ReadsOnceWhereRangesOverlap) {
  const CountingFile file(MemoryFile::pattern(1000));
  ReadBatch batch;
  ASSERT_TRUE(batch.plan(std::vector<ByteRange>{{100, 200}, {100, 200}, {150, 10}, {0, 0}, {290, 60}}).ok());
  Bytes buffer(batch.buffer_bytes());
  ASSERT_TRUE(batch.read(file, buffer).ok());
  EXPECT_EQ(file.num_reads(), 1u);
  EXPECT_EQ(file.num_bytes(), 250u);
  EXPECT_EQ(batch.gap_bytes(), 0u);
  EXPECT_EQ(batch.bytes(3).size(), 0u);
}

TEST(ReadBatch, RefusesOverflowShortBuffersAndRangesOutsideTheFile) {
  ReadBatch batch;
  const std::uint64_t huge = ~std::uint64_t{0};
  EXPECT_EQ(batch.plan(std::vector<ByteRange>{{huge, 2}}).error().code(), ErrorCode::kCorruptData);
  EXPECT_EQ(batch.plan(std::vector<ByteRange>{{0, huge}, {huge - 5, 5}}).ok(), true);
  EXPECT_EQ(ReadBatch({0, 0}).plan(std::vector<ByteRange>{{0, huge}, {10, huge - 10}}).ok(), true);
  EXPECT_EQ(ReadBatch({0, 0}).plan(std::vector<ByteRange>{{0, huge - 5}, {10, huge - 10}}).error().code(),
            ErrorCode::kCorruptData);
  const auto file = MemoryFile::pattern(100);
  ASSERT_TRUE(batch.plan(std::vector<ByteRange>{{0, 50}}).ok());
  Bytes small(49);
  EXPECT_EQ(batch.read(*file, small).error().code(), ErrorCode::kInvalidArgument);
  ASSERT_TRUE(batch.plan(std::vector<ByteRange>{{90, 11}}).ok());
  Bytes buffer(batch.buffer_bytes());
  EXPECT_EQ(batch.read(*file, buffer).error().code(), ErrorCode::kCorruptData);
}

}  // namespace
}  // namespace headrace
