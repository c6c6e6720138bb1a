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

std::vector<FileRange> in_file(const RandomAccessFile& file, const std::vector<ByteRange>& ranges) {
  std::vector<FileRange> out;
  for (const ByteRange& range : ranges) out.push_back({&file, range});
  return out;
}
std::vector<ByteRange> ranges_of(std::span<const FileRange> ranges) {
  std::vector<ByteRange> out;
  for (const FileRange& r : ranges) out.push_back(r.range);
  return out;
}

TEST(ReadBatch, MergesNeighboursOverSmallHolesUpToTheTarget) {
  ReadBatch batch({.hole_bytes = 10, .target_bytes = 100});
  const auto file = MemoryFile::pattern(1000);
  EXPECT_EQ(*batch.plan(in_file(*file, {{200, 50}, {0, 20}, {30, 20}, {61, 5}, {66, 60}, {250, 60}})),
            50u + 65 + 50 + 60);
  // 0..20 and 30..50 (hole of 10), then 61.. (hole of 11) starts anew; 250.. would make 110 bytes with 200..
  EXPECT_EQ(ranges_of(batch.merged()), (std::vector<ByteRange>{{0, 50}, {61, 65}, {200, 50}, {250, 60}}));
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
      const auto needed = batch.plan(in_file(file, ranges));
      RC_ASSERT(needed.ok());
      Bytes buffer(*needed);
      RC_ASSERT(batch.read(buffer).ok());
      std::uint64_t longest = 0;
      for (std::size_t i = 0; i < ranges.size(); ++i) {
        longest = std::max(longest, ranges[i].size);
        const auto expected = inner->bytes().subspan(ranges[i].offset, ranges[i].size);
        RC_ASSERT(std::ranges::equal(batch.bytes(i), expected));
      }
      // What is read: the plan, ascending, inside the file, each read within its bound; beyond the wanted bytes only
      // holes that are short enough.
      RC_ASSERT(std::ranges::equal(file.ranges(), ranges_of(batch.merged())));
      std::uint64_t read_bytes = 0, previous = 0;
      for (const ByteRange& range : ranges_of(batch.merged())) {
        RC_ASSERT(range.offset >= previous && range.end() <= file_bytes && range.size > 0);
        RC_ASSERT(range.size <= std::max(options.target_bytes, longest));
        previous = range.offset;
        read_bytes += range.size;
      }
      RC_ASSERT(read_bytes == *needed && read_bytes == batch.buffer_bytes());
      std::vector<char> wanted(file_bytes, 0), touched(file_bytes, 0);
      for (const ByteRange& r : ranges) std::fill_n(wanted.begin() + static_cast<long>(r.offset), r.size, 1);
      for (const ByteRange& r : ranges_of(batch.merged()))
        std::fill_n(touched.begin() + static_cast<long>(r.offset), r.size, 1);
      for (std::size_t i = 0, hole = 0; i < file_bytes; ++i) {
        RC_ASSERT(!wanted[i] || touched[i]);
        hole = touched[i] && !wanted[i] ? hole + 1 : 0;
        RC_ASSERT(hole <= options.hole_bytes);
      }
    }
  }));
}

TEST(ReadBatch, ReadsOnceWhereRangesOverlap) {
  const CountingFile file(MemoryFile::pattern(1000));
  ReadBatch batch;
  ASSERT_TRUE(batch.plan(in_file(file, {{100, 200}, {100, 200}, {150, 10}, {0, 0}, {290, 60}})).ok());
  Bytes buffer(batch.buffer_bytes());
  ASSERT_TRUE(batch.read(buffer).ok());
  EXPECT_EQ(file.num_reads(), 1u);
  EXPECT_EQ(file.num_bytes(), 250u);
  EXPECT_EQ(batch.bytes(3).size(), 0u);
}

TEST(ReadBatch, RefusesOverflowShortBuffersAndRangesOutsideTheFile) {
  ReadBatch batch;
  const std::uint64_t huge = ~std::uint64_t{0};
  const auto file = MemoryFile::pattern(100, "small.bin");
  const Error overflow = batch.plan(in_file(*file, {{huge, 2}})).error();
  EXPECT_EQ(overflow.file(), "small.bin");
  EXPECT_EQ(overflow.code(), ErrorCode::kCorruptData);
  EXPECT_EQ(batch.plan(in_file(*file, {{0, huge}, {huge - 5, 5}})).ok(), true);
  EXPECT_EQ(ReadBatch({0, 0}).plan(in_file(*file, {{0, huge}, {10, huge - 10}})).ok(), true);
  EXPECT_EQ(ReadBatch({0, 0}).plan(in_file(*file, {{0, huge - 5}, {10, huge - 10}})).error().code(),
            ErrorCode::kCorruptData);
  ASSERT_TRUE(batch.plan(in_file(*file, {{0, 50}})).ok());
  Bytes small(49);
  EXPECT_EQ(batch.read(small).error().code(), ErrorCode::kInvalidArgument);
  ASSERT_TRUE(batch.plan(in_file(*file, {{90, 11}})).ok());
  Bytes buffer(batch.buffer_bytes());
  EXPECT_EQ(batch.read(buffer).error().code(), ErrorCode::kCorruptData);
}

TEST(ReadBatch, GroupsByFileInTheOrderOfFirstUse) {
  const CountingFile a(MemoryFile::pattern(1000, "a")), b(MemoryFile::pattern(1000, "b"));
  ReadBatch batch({.hole_bytes = 10, .target_bytes = 1000});
  const std::vector<FileRange> ranges{{&b, {500, 10}}, {&a, {0, 10}}, {nullptr, {}}, {&b, {100, 10}}, {&a, {15, 10}}};
  ASSERT_EQ(*batch.plan(ranges), 10u + 10 + 25);
  Bytes buffer(batch.buffer_bytes());
  ASSERT_TRUE(batch.read(buffer).ok());
  EXPECT_EQ(b.ranges(), (std::vector<ByteRange>{{100, 10}, {500, 10}}));
  EXPECT_EQ(a.ranges(), (std::vector<ByteRange>{{0, 25}}));
  EXPECT_EQ(batch.merged()[0].file, &b);
  EXPECT_TRUE(batch.bytes(2).empty());
}

TEST(ReadBatch, DeliversTheBytesOfTheRightFile) {
  EXPECT_TRUE(rc::check([] {
    constexpr std::uint64_t kBytes = 300;
    std::vector<std::shared_ptr<MemoryFile>> files;
    for (int f = 0; f < 6; ++f) {
      Bytes bytes(kBytes);
      for (std::uint64_t i = 0; i < kBytes; ++i) bytes[i] = static_cast<std::byte>(i * 7 + f * 41);
      files.push_back(std::make_shared<MemoryFile>(std::to_string(f), std::move(bytes)));
    }
    ReadBatch batch({*rc::gen::inRange<std::uint64_t>(0, 50), *rc::gen::inRange<std::uint64_t>(0, 200)});
    std::vector<FileRange> ranges;
    for (int n = *rc::gen::inRange(0, 40); n > 0; --n) {
      const std::uint64_t offset = *rc::gen::inRange<std::uint64_t>(0, kBytes + 1);
      ranges.push_back({files[*rc::gen::inRange<std::size_t>(0, files.size())].get(),
                        {offset, *rc::gen::inRange<std::uint64_t>(0, kBytes - offset + 1)}});
    }
    const auto needed = batch.plan(ranges);
    RC_ASSERT(needed.ok());
    Bytes buffer(*needed);
    RC_ASSERT(batch.read(buffer).ok());
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const auto& file = static_cast<const MemoryFile&>(*ranges[i].file);
      RC_ASSERT(std::ranges::equal(batch.bytes(i), file.bytes().subspan(ranges[i].range.offset, ranges[i].range.size)));
    }
    for (std::size_t i = 1; i < batch.merged().size(); ++i)  // a file's reads follow each other
      for (std::size_t j = i + 1; j < batch.merged().size(); ++j)
        RC_ASSERT(batch.merged()[j].file != batch.merged()[i - 1].file ||
                  batch.merged()[i].file == batch.merged()[i - 1].file);
  }));
}

TEST(ReadBatch, NamesTheFileThatFailedOrChanged) {
  const auto good = MemoryFile::pattern(100, "good.bin");
  FaultyFile bad(MemoryFile::pattern(100, "bad.bin"), {{.bytes = {50, 1}, .error = ErrorCode::kReadFailed}});
  ReadBatch batch({.hole_bytes = 0});
  Bytes buffer(100);
  ASSERT_TRUE(batch.plan(std::vector<FileRange>{{good.get(), {40, 20}}, {&bad, {40, 20}}}).ok());
  const Status failed = batch.read(buffer);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code(), ErrorCode::kReadFailed);
  EXPECT_EQ(failed.error().file(), "bad.bin");

  ASSERT_TRUE(batch.plan(std::vector<FileRange>{{good.get(), {0, 20}}, {&bad, {0, 20}}}).ok());
  ASSERT_TRUE(batch.read(buffer).ok());
  bad.change();
  const Status changed = batch.read(buffer);
  ASSERT_FALSE(changed.ok());
  EXPECT_EQ(changed.error().code(), ErrorCode::kFileChanged);
  EXPECT_EQ(changed.error().file(), "bad.bin");
  EXPECT_EQ(batch.plan(std::vector<FileRange>{{nullptr, {0, 1}}}).error().code(), ErrorCode::kInternal);
}

/// Counts how often it was asked whether it changed.
class AskedFile final : public WrappedFile {
 public:
  using WrappedFile::WrappedFile;
  Status check_unchanged() const override {
    ++asked;
    return {};
  }
  mutable int asked = 0;
};

TEST(ReadBatch, AsksEachFileOnceWhetherItChanged) {
  const AskedFile a(MemoryFile::pattern(1000)), b(MemoryFile::pattern(1000));
  ReadBatch batch({.hole_bytes = 0, .target_bytes = 10});
  ASSERT_TRUE(batch.plan(std::vector<FileRange>{{&a, {0, 5}}, {&b, {0, 5}}, {&a, {100, 5}}, {&a, {300, 5}}}).ok());
  Bytes buffer(batch.buffer_bytes());
  ASSERT_TRUE(batch.read(buffer).ok());
  EXPECT_EQ(a.asked, 1);
  EXPECT_EQ(b.asked, 1);
}

}  // namespace
}  // namespace headrace
