#include "storage/fetcher.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <latch>
#include <thread>

#include "storage/read_batch.h"
#include "storage/testing/file_doubles.h"
#include "storage/testing/memory_file.h"

namespace headrace {
namespace {

using Bytes = std::vector<std::byte>;

/// A file whose reads wait for a sign.
class GatedFile final : public WrappedFile {
 public:
  using WrappedFile::WrappedFile;
  Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    started.fetch_add(1);
    started.notify_all();
    open.wait(false);
    return WrappedFile::read_at(offset, out);
  }
  void release_memory() {
    open = true;
    open.notify_all();
  }
  void wait_for_reads(int n) const {
    for (int seen = started.load(); seen < n; seen = started.load()) started.wait(seen);
  }
  mutable std::atomic<int> started{0};
  std::atomic<bool> open{false};
};

std::unique_ptr<ThreadedFetcher> make_fetcher(int threads, std::uint64_t bytes) {
  auto made = ThreadedFetcher::make({.num_threads = threads, .most_bytes_in_flight = bytes});
  EXPECT_TRUE(made.ok()) << made.error().what();
  return std::move(*made);
}

/// Fetch, and wait until it is reported.
Status fetch_now(Fetcher& fetcher, std::span<const FileRange> ranges, std::span<std::byte> buffer) {
  std::promise<Status> reported;
  auto result = reported.get_future();
  EXPECT_TRUE(fetcher.fetch(ranges, buffer, [&](Status status) { reported.set_value(std::move(status)); }));
  return result.get();
}

std::vector<std::unique_ptr<Fetcher>> fetchers() {
  std::vector<std::unique_ptr<Fetcher>> all;
  all.push_back(std::make_unique<LocalFetcher>());
  all.push_back(make_fetcher(1, 1 << 20));
  all.push_back(make_fetcher(4, 1));
  return all;
}

TEST(Fetcher, DeliversRangesOfSeveralFilesOneAfterTheOther) {
  const auto a = MemoryFile::pattern(1000, "a"), b = MemoryFile::pattern(2000, "b");
  const SlowFile slow(b, {.latency_ns = 100'000});
  const std::vector<FileRange> ranges{{a.get(), {10, 100}}, {&slow, {1900, 50}}, {nullptr, {}}, {a.get(), {0, 7}}};
  for (const auto& fetcher : fetchers()) {
    Bytes buffer(157);
    ASSERT_TRUE(fetch_now(*fetcher, ranges, buffer).ok());
    for (std::size_t i = 0; i < 100; ++i) ASSERT_EQ(buffer[i], MemoryFile::pattern_byte(10 + i));
    for (std::size_t i = 0; i < 50; ++i) ASSERT_EQ(buffer[100 + i], MemoryFile::pattern_byte(1900 + i));
    for (std::size_t i = 0; i < 7; ++i) ASSERT_EQ(buffer[150 + i], MemoryFile::pattern_byte(i));
    EXPECT_EQ(fetcher->bytes_in_flight(), 0u);
  }
}

TEST(Fetcher, ReportsTheFirstRangeThatFailedWhateverComesFirst) {
  const auto good = MemoryFile::pattern(100, "good");
  const FaultyFile bad(MemoryFile::pattern(100, "bad"), {{.error = ErrorCode::kReadFailed}});
  const FaultyFile worse(MemoryFile::pattern(100, "worse"), {{.error = ErrorCode::kCorruptData}});
  const SlowFile slow_bad(std::shared_ptr<const RandomAccessFile>(&bad, [](const void*) {}), {.latency_ns = 2'000'000});
  const std::vector<FileRange> ranges{{good.get(), {0, 10}}, {&slow_bad, {5, 10}}, {&worse, {7, 10}}};
  for (const auto& fetcher : fetchers()) {
    Bytes buffer(30);
    const Status status = fetch_now(*fetcher, ranges, buffer);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code(), ErrorCode::kReadFailed);
    EXPECT_EQ(status.error().file(), "bad");
    EXPECT_EQ(status.error().bytes(), (ByteRange{5, 10}));
  }
}

TEST(Fetcher, SaysThatAFileChanged) {
  for (const auto& fetcher : fetchers()) {
    FaultyFile file(MemoryFile::pattern(100, "changing"), {});
    const std::vector<FileRange> ranges{{&file, {0, 10}}};
    Bytes buffer(10);
    EXPECT_TRUE(fetch_now(*fetcher, ranges, buffer).ok());
    file.change();
    const Status status = fetch_now(*fetcher, ranges, buffer);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code(), ErrorCode::kFileChanged);
    EXPECT_EQ(status.error().file(), "changing");
  }
}

TEST(Fetcher, RefusesABufferThatIsTooSmallAndTakesAnEmptyFetch) {
  const auto file = MemoryFile::pattern(100);
  for (const auto& fetcher : fetchers()) {
    Bytes buffer(9);
    const std::vector<FileRange> ranges{{file.get(), {0, 10}}};
    EXPECT_EQ(fetch_now(*fetcher, ranges, buffer).error().code(), ErrorCode::kInvalidArgument);
    EXPECT_TRUE(fetch_now(*fetcher, {}, {}).ok());
  }
}

TEST(LocalFetcher, ReadsOnTheCallingThreadBeforeItReturns) {
  const auto file = MemoryFile::pattern(100);
  LocalFetcher fetcher;
  Bytes buffer(10);
  const std::vector<FileRange> ranges{{file.get(), {0, 10}}};
  std::thread::id by;
  ASSERT_TRUE(fetcher.fetch(ranges, buffer, [&](const Status&) { by = std::this_thread::get_id(); }));
  EXPECT_EQ(by, std::this_thread::get_id());
}

TEST(ThreadedFetcher, ReadsOfOneFetchAndOfSeveralAreInFlightTogether) {
  GatedFile file(MemoryFile::pattern(1000));
  const auto fetcher = make_fetcher(4, 1000);
  const std::vector<FileRange> first{{&file, {0, 10}}, {&file, {100, 10}}, {&file, {200, 10}}},
      second{{&file, {300, 5}}};
  Bytes a(30), b(5);
  std::latch both(2);
  ASSERT_TRUE(fetcher->fetch(first, a, [&](const Status& s) {
    EXPECT_TRUE(s.ok());
    both.count_down();
  }));
  ASSERT_TRUE(fetcher->fetch(second, b, [&](const Status& s) {
    EXPECT_TRUE(s.ok());
    both.count_down();
  }));
  file.wait_for_reads(4);  // would never come if reads waited for each other
  EXPECT_EQ(fetcher->bytes_in_flight(), 35u);
  file.release_memory();
  both.wait();
  EXPECT_EQ(a[25], MemoryFile::pattern_byte(205));
  EXPECT_EQ(fetcher->bytes_in_flight(), 0u);
}

TEST(ThreadedFetcher, BoundsTheBytesInFlightAndTakesTheNextFromACallback) {
  GatedFile file(MemoryFile::pattern(1000)), gated_again(MemoryFile::pattern(1000));
  const auto fetcher = make_fetcher(2, 100);
  const std::vector<FileRange> large{{&file, {0, 500}}}, small{{&gated_again, {500, 60}}};
  const auto untaken = [](const Status&) { ADD_FAILURE() << "reported though it was not taken"; };
  Bytes a(500), b(60), c(60);
  std::latch all(2);
  // With nothing in flight even what is larger than the bound is taken; then nothing is, until it is reported.
  ASSERT_TRUE(fetcher->fetch(large, a, [&](const Status& s) {
    EXPECT_TRUE(s.ok());
    EXPECT_TRUE(fetcher->fetch(small, b, [&](const Status& t) {
      EXPECT_TRUE(t.ok());
      all.count_down();
    }));
    EXPECT_FALSE(fetcher->fetch(small, c, untaken));  // 120 of 100 bytes
    gated_again.release_memory();
    all.count_down();
  }));
  EXPECT_FALSE(fetcher->fetch(small, c, untaken));
  EXPECT_EQ(fetcher->bytes_in_flight(), 500u);
  file.release_memory();
  all.wait();
  EXPECT_EQ(b[59], MemoryFile::pattern_byte(559));
}

TEST(ThreadedFetcher, ReportsEveryFetchBeforeItIsGone) {
  GatedFile file(MemoryFile::pattern(1000));
  auto fetcher = make_fetcher(1, 1000);
  const std::vector<FileRange> ranges{{&file, {0, 10}}};
  Bytes buffer(10);
  std::atomic<int> good{0}, cancelled{0};
  const auto done = [&](const Status& status) {
    ++(status.ok() ? good : cancelled);
    if (!status.ok()) {
      EXPECT_EQ(status.error().code(), ErrorCode::kCancelled);
    }
  };
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(fetcher->fetch(ranges, buffer, done));
  file.wait_for_reads(1);
  std::thread closer([&] { fetcher.reset(); });
  file.release_memory();
  closer.join();
  EXPECT_EQ(good + cancelled, 5);
  EXPECT_GE(good, 1);
}

TEST(ThreadedFetcher, ManyFetchesOfManyThreads) {
  const auto file = MemoryFile::pattern(1 << 16);
  const auto fetcher = make_fetcher(3, 4096);
  const auto ask = [&](std::uint64_t seed) {
    for (std::uint64_t i = 0; i < 300; ++i) {
      const std::uint64_t at = (seed * 7919 + i * 104729) % 60000;
      const std::vector<FileRange> ranges{{file.get(), {at, 100}}, {file.get(), {at + 200, 50}}};
      Bytes buffer(150);
      std::promise<Status> reported;
      auto result = reported.get_future();
      while (!fetcher->fetch(ranges, buffer, [&](Status s) { reported.set_value(std::move(s)); }))
        std::this_thread::yield();
      ASSERT_TRUE(result.get().ok());
      ASSERT_EQ(buffer[99], MemoryFile::pattern_byte(at + 99));
      ASSERT_EQ(buffer[149], MemoryFile::pattern_byte(at + 249));
    }
  };
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) threads.emplace_back(ask, t);
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(fetcher->bytes_in_flight(), 0u);
}

TEST(ThreadedFetcher, RefusesToBeWithoutThreadsOrBytes) {
  EXPECT_EQ(ThreadedFetcher::make({.num_threads = 0}).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(ThreadedFetcher::make({.most_bytes_in_flight = 0}).error().code(), ErrorCode::kInvalidArgument);
}

TEST(ReadBatch, IsReadByAFetcherAsByItself) {
  const auto a = MemoryFile::pattern(1000, "a"), b = MemoryFile::pattern(1000, "b");
  const std::vector<FileRange> ranges{{b.get(), {500, 10}}, {a.get(), {0, 10}}, {b.get(), {100, 10}}};
  for (const auto& fetcher : fetchers()) {
    ReadBatch batch;
    ASSERT_TRUE(batch.plan(ranges).ok());
    Bytes buffer(batch.buffer_bytes());
    std::promise<Status> reported;
    auto result = reported.get_future();
    ASSERT_TRUE(batch.fetch(*fetcher, buffer, [&](Status status) { reported.set_value(std::move(status)); }));
    ASSERT_TRUE(result.get().ok());
    for (std::size_t i = 0; i < ranges.size(); ++i)
      for (std::size_t k = 0; k < ranges[i].range.size; ++k)
        ASSERT_EQ(batch.bytes(i)[k], MemoryFile::pattern_byte(ranges[i].range.offset + k));
  }
}

}  // namespace
}  // namespace headrace
