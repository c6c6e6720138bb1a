// What every RandomAccessFile must do: one suite for all of them. A new kind of file adds a line at the end.
#include "storage/random_access_file.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <thread>

#include "base/testing/temporary_folder.h"
#include "storage/file_system.h"
#include "storage/local_file.h"
#include "storage/testing/file_doubles.h"
#include "storage/testing/memory_file.h"

namespace headrace {
namespace {

using Bytes = std::vector<std::byte>;

struct Kind {
  std::string name;
  std::function<std::shared_ptr<RandomAccessFile>(const TemporaryFolder&, const Bytes&)> make;
};
void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.name;
}

class RandomAccessFileConformance : public ::testing::TestWithParam<Kind> {
 protected:
  static Bytes pattern(std::size_t size) {
    const auto file = MemoryFile::pattern(size);
    return {file->bytes().begin(), file->bytes().end()};
  }
  TemporaryFolder folder_;
};

TEST_P(RandomAccessFileConformance, DeliversTheBytesOfEveryRange) {
  const Bytes expected = pattern(1000);
  const auto file = GetParam().make(folder_, expected);
  ASSERT_EQ(file->size(), 1000u);
  EXPECT_FALSE(file->name().empty());
  for (std::size_t offset = 0; offset <= 1000; offset += 37)
    for (std::size_t size = 0; offset + size <= 1000; size += 1 + size / 2) {
      Bytes out(size, std::byte{0xEE});
      const Status status = file->read_at(offset, out);
      ASSERT_TRUE(status.ok()) << status.error().what();
      ASSERT_TRUE(std::equal(out.begin(), out.end(), expected.begin() + static_cast<std::ptrdiff_t>(offset)));
    }
}

TEST_P(RandomAccessFileConformance, RefusesWhatLiesPastTheEndAndNamesBothSizes) {
  const auto file = GetParam().make(folder_, pattern(1000));
  struct Case {
    std::uint64_t offset, size;
  };
  for (const Case c :
       {Case{1000, 1}, {999, 2}, {0, 1001}, {1001, 0}, {~std::uint64_t{0}, 1}, {~std::uint64_t{0} - 1, 8}}) {
    Bytes out(c.size, std::byte{0xEE});
    const Status status = file->read_at(c.offset, out);
    ASSERT_FALSE(status.ok()) << c.offset << "+" << c.size;
    EXPECT_EQ(status.error().code(), ErrorCode::kCorruptData);
    EXPECT_EQ(status.error().file(), file->name());
    const std::string text = status.error().what();
    EXPECT_NE(text.find(std::to_string(c.offset)), std::string::npos) << text;
    EXPECT_NE(text.find("1000 bytes"), std::string::npos) << text;
    EXPECT_EQ(out, Bytes(c.size, std::byte{0xEE})) << "nothing is written";
  }
}

TEST_P(RandomAccessFileConformance, MayBeEmpty) {
  const auto file = GetParam().make(folder_, {});
  EXPECT_EQ(file->size(), 0u);
  EXPECT_TRUE(file->read_at(0, {}).ok());
  std::byte one{};
  EXPECT_FALSE(file->read_at(0, {&one, 1}).ok());
}

TEST_P(RandomAccessFileConformance, ManyThreadsReadAtOnce) {
  const Bytes expected = pattern(1 << 16);
  const auto file = GetParam().make(folder_, expected);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      Bytes out;
      for (int i = 0; i < 300; ++i) {
        const std::size_t offset = random() % expected.size(), size = random() % (expected.size() - offset);
        out.assign(size, std::byte{});
        if (!file->read_at(offset, out).ok() ||
            !std::equal(out.begin(), out.end(), expected.begin() + static_cast<std::ptrdiff_t>(offset)))
          ++wrong;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(RandomAccessFileConformance, AnUntouchedFileIsUnchanged) {
  const auto file = GetParam().make(folder_, pattern(100));
  EXPECT_TRUE(file->check_unchanged().ok());
}

std::shared_ptr<RandomAccessFile> memory(const TemporaryFolder&, const Bytes& bytes) {
  return std::make_shared<MemoryFile>("memory", bytes);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, RandomAccessFileConformance,
    ::testing::Values(Kind{"Memory", memory},
                      Kind{"Local",
                           [](const TemporaryFolder& folder, const Bytes& bytes) {
                             return FileSystem::of("").open(folder.write("file.bin", bytes)).value();
                           }},
                      Kind{"Slow",
                           [](const TemporaryFolder& folder, const Bytes& bytes) -> std::shared_ptr<RandomAccessFile> {
                             return std::make_shared<SlowFile>(memory(folder, bytes), StorageModel{100, 1e12});
                           }},
                      Kind{"FaultyWithoutFaults",
                           [](const TemporaryFolder& folder, const Bytes& bytes) -> std::shared_ptr<RandomAccessFile> {
                             return std::make_shared<FaultyFile>(memory(folder, bytes), std::vector<Fault>{});
                           }},
                      Kind{"Counting",
                           [](const TemporaryFolder& folder, const Bytes& bytes) -> std::shared_ptr<RandomAccessFile> {
                             return std::make_shared<CountingFile>(memory(folder, bytes));
                           }}),
    [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace headrace
