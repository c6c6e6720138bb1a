#include "storage/testing/file_doubles.h"

#include <gtest/gtest.h>

#include "storage/testing/memory_file.h"

namespace headrace {
namespace {

using Bytes = std::vector<std::byte>;

TEST(FaultyFile, FailsTheNthReadAndNoOther) {
  const FaultyFile file(MemoryFile::pattern(100), {{.nth_read = 2, .error = ErrorCode::kReadFailed}});
  Bytes out(10);
  for (int n = 0; n < 5; ++n) {
    const Status status = file.read_at(0, out);
    ASSERT_EQ(status.ok(), n != 2) << n;
    if (n == 2) {
      EXPECT_EQ(status.error().code(), ErrorCode::kReadFailed);
    }
  }
  EXPECT_EQ(file.num_reads(), 5u);
}

TEST(FaultyFile, DamagesOnlyTheBytesItWasTold) {
  const FaultyFile file(MemoryFile::pattern(100), {{.bytes = {20, 2}, .flip = 0xFF}});
  Bytes out(30);
  ASSERT_TRUE(file.read_at(0, out).ok());
  for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(out[i] == MemoryFile::pattern_byte(i), i != 20 && i != 21) << i;
  ASSERT_TRUE(file.read_at(22, out).ok());
  EXPECT_EQ(out[0], MemoryFile::pattern_byte(22));
}

TEST(FaultyFile, FailsReadsThatMeetARange) {
  const FaultyFile file(MemoryFile::pattern(100), {{.bytes = {50, 1}, .error = ErrorCode::kCorruptData}});
  Bytes out(10);
  EXPECT_TRUE(file.read_at(40, out).ok());
  EXPECT_EQ(file.read_at(41, out).error().code(), ErrorCode::kCorruptData);
  EXPECT_EQ(file.read_at(50, out).error().code(), ErrorCode::kCorruptData);
  EXPECT_TRUE(file.read_at(51, out).ok());
}

TEST(FaultyFile, CanChangeUnderTheReader) {
  FaultyFile file(MemoryFile::pattern(100), {});
  EXPECT_TRUE(file.check_unchanged().ok());
  file.change();
  Bytes out(10);
  EXPECT_EQ(file.check_unchanged().error().code(), ErrorCode::kFileChanged);
  EXPECT_EQ(file.read_at(0, out).error().code(), ErrorCode::kFileChanged);
}

TEST(CountingFile, RemembersEveryRead) {
  CountingFile file(MemoryFile::pattern(100));
  Bytes out(30);
  ASSERT_TRUE(file.read_at(10, out).ok());
  ASSERT_TRUE(file.read_at(70, out).ok());
  EXPECT_EQ(file.num_bytes(), 60u);
  EXPECT_EQ(file.ranges(), (std::vector<ByteRange>{{10, 30}, {70, 30}}));
  file.reset();
  EXPECT_EQ(file.num_reads(), 0u);
}

TEST(StorageModel, ARequestCostsLatencyAndTransfer) {
  EXPECT_EQ((StorageModel{1000, 1e9}.request_ns(500)), 1500u);
  EXPECT_EQ((StorageModel{1000, 0}.request_ns(1 << 30)), 1000u);
}

}  // namespace
}  // namespace headrace
