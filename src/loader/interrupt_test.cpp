// What ends a call that reads before its end, and what the loader is afterwards.
#include <gtest/gtest.h>
#include <headrace/loader.h>

#include <thread>

#include <headrace/split.h>

#include "base/memory/memory_budget.h"
#include "dataset/testing/fake_source.h"

namespace headrace {
namespace {

using namespace std::chrono_literals;
using testing::fake_dataset;
using testing::FakeFaults;

constexpr auto kNo = [] { return false; };
constexpr auto kYes = [] { return true; };

ErrorCode code_of_interrupt(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::kInternal;
}

std::uint64_t rows_of(Loader& loader) {
  std::uint64_t rows = 0;
  for (const Batch& batch : loader) rows += batch.rows();
  return rows;
}

/// Array 1 has chunks that reach over many blocks of array 0: it is kept decoded, and read before the first batch.
TEST(Interrupt, TheFirstEpochWhileSideFieldsAreRead) {
  const auto faults = std::make_shared<FakeFaults>();
  const Dataset data = fake_dataset({51'200}, {{3000, 100}, {2, 512}}, faults);
  LoaderOptions options{.batch = Samples{16}, .threads = 1};
  options.cache.mode = CacheChoice::kNone;
  Loader loader(data, options);
  ASSERT_NE(loader.explain().find("kept in memory"), std::string::npos);
  faults->delay = 20ms;  // a hundred chunks: the question comes every 50 ms
  EXPECT_EQ(code_of_interrupt([&] { (void)loader.epoch(kNo); }), ErrorCode::kCancelled);
  EXPECT_GT(faults->decodes, 0u);
  EXPECT_LT(faults->decodes, 100u);
  faults->delay = 0ms;
  Loader::Epoch epoch = loader.epoch(kYes);
  std::uint64_t rows = 0;
  while (const auto batch = epoch.next()) rows += batch->rows();
  EXPECT_EQ(rows, 51'200u);
  EXPECT_EQ(rows_of(loader), 51'200u);
}

/// A read that does not return for long holds neither the call nor the loader, which begins anew.
TEST(Interrupt, TheFirstEpochWhileTheReadOfASideFieldHangs) {
  const auto faults = std::make_shared<FakeFaults>();
  const Dataset data = fake_dataset({5120}, {{3000, 100}, {2, 512}}, faults);
  LoaderOptions options{.batch = Samples{16}, .threads = 1};
  options.cache.mode = CacheChoice::kNone;
  Loader loader(data, options);
  ASSERT_NE(loader.explain().find("kept in memory"), std::string::npos);
  faults->delay = 7s;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(code_of_interrupt([&] { (void)loader.epoch(kNo); }), ErrorCode::kCancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 6500ms);
  faults->delay = 0ms;
  EXPECT_EQ(rows_of(loader), 5120u);
}

/// The function that is asked runs inside the call, which then closes the loader.
TEST(Interrupt, CloseFromInsideTheFirstEpoch) {
  const auto faults = std::make_shared<FakeFaults>();
  faults->delay = 20ms;
  const Dataset data = fake_dataset({51'200}, {{3000, 100}, {2, 512}}, faults);
  LoaderOptions options{.batch = Samples{16}, .threads = 1};
  options.cache.mode = CacheChoice::kNone;
  Loader loader(data, options);
  const auto close_it = [&] {
    loader.close();
    EXPECT_TRUE(loader.closed());
    return true;
  };
  EXPECT_EQ(code_of_interrupt([&] { (void)loader.epoch(close_it); }), ErrorCode::kClosed);
  EXPECT_LT(faults->decodes, 100u);
  EXPECT_EQ(code_of_interrupt([&] { (void)loader.epoch(); }), ErrorCode::kClosed);
  loader.close();
}

/// A label is read in runs of a million rows.
TEST(Interrupt, ReadingALabel) {
  const auto faults = std::make_shared<FakeFaults>();
  const Dataset data = fake_dataset({2'500'000}, {{1, 1 << 16}}, faults);
  EXPECT_EQ(code_of_interrupt([&] { (void)split(data, std::vector{0.5}, {.stratify = "a0", .go_on = kNo}); }),
            ErrorCode::kCancelled);
  EXPECT_LT(faults->decodes, 20u);
  faults->decodes = 0;
  LoaderOptions options{.batch = Samples{16}};
  options.order = Balanced{"a0", 100};
  EXPECT_EQ(code_of_interrupt([&] { const Loader loader(data, options, kNo); }), ErrorCode::kCancelled);
  EXPECT_LT(faults->decodes, 20u);
}

/// Closes the loader on another thread, and waits for it.
auto close_there(Loader& loader) {
  return [&loader](std::uint64_t, std::uint64_t) {
    std::jthread([&loader] { loader.close(); }).join();
    return true;
  };
}

/// Also while the program's own function waits for that thread.
TEST(Interrupt, CloseFromAnotherThreadEndsAPreload) {
  const auto faults = std::make_shared<FakeFaults>();
  faults->delay = 5ms;  // 4 s in all; the block that is being decoded comes to its end
  const Dataset data = fake_dataset({16'000}, {{400, 20}}, faults);
  LoaderOptions options{.batch = Samples{16}, .memory = 256 << 20, .threads = 1};
  options.cache.mode = CacheChoice::kRam;
  Loader loader(data, options);
  EXPECT_EQ(code_of_interrupt([&] { loader.preload(close_there(loader)); }), ErrorCode::kClosed);
  EXPECT_TRUE(loader.closed());
  EXPECT_LT(faults->decodes, 400u);
}

/// That function is called in the middle of reading then.
TEST(Interrupt, CloseFromAnotherThreadEndsAPreloadWhileSideFieldsAreRead) {
  const auto faults = std::make_shared<FakeFaults>();
  faults->delay = 20ms;  // 16 chunks of array 1 are read first
  const Dataset data = fake_dataset({8000}, {{3000, 100}, {2, 512}}, faults);
  LoaderOptions options{.batch = Samples{16}, .memory = 256 << 20, .threads = 1};
  options.cache.mode = CacheChoice::kRam;
  const std::uint64_t before = MemoryBudget::process()->snapshot().used_bytes;
  Loader loader(data, options);
  ASSERT_NE(loader.explain().find("kept in memory"), std::string::npos) << loader.explain();
  EXPECT_EQ(code_of_interrupt([&] { loader.preload(close_there(loader)); }), ErrorCode::kClosed);
  EXPECT_TRUE(loader.closed());
  EXPECT_LT(faults->decodes, 16u);
  EXPECT_EQ(MemoryBudget::process()->snapshot().used_bytes, before);
}

/// That call has no callback to ask whether to go on.
TEST(Interrupt, CloseFromAnotherThreadEndsTheFirstEpoch) {
  const auto faults = std::make_shared<FakeFaults>();
  faults->delay = 20ms;
  const Dataset data = fake_dataset({51'200}, {{3000, 100}, {2, 512}}, faults);
  LoaderOptions options{.batch = Samples{16}, .threads = 1};
  options.cache.mode = CacheChoice::kNone;
  Loader loader(data, options);
  std::jthread closing([&] {
    while (faults->decodes == 0) std::this_thread::sleep_for(1ms);
    loader.close();
  });
  EXPECT_EQ(code_of_interrupt([&] { (void)loader.epoch(); }), ErrorCode::kClosed);
  closing.join();
  EXPECT_TRUE(loader.closed());
  EXPECT_LT(faults->decodes, 100u);
  EXPECT_EQ(code_of_interrupt([&] { loader.preload(); }), ErrorCode::kClosed);
}

TEST(Interrupt, ACallFromInsideAnotherIsAnErrorAndDoesNotHang) {
  const auto faults = std::make_shared<FakeFaults>();
  faults->delay = 20ms;
  const Dataset data = fake_dataset({51'200}, {{3000, 100}, {2, 512}}, faults);
  LoaderOptions options{.batch = Samples{16}, .threads = 1};
  options.cache.mode = CacheChoice::kNone;
  Loader loader(data, options);
  const std::string state = loader.state();
  int asked = 0;
  const auto call_it = [&] {
    ++asked;
    const std::vector<std::function<void()>> calls{[&] { (void)loader.epoch(); }, [&] { loader.preload(); },
                                                   [&] {
                                                     loader.set_rows({1, 2});
                                                   },
                                                   [&] { loader.load_state(state); },
                                                   [&] { (void)loader.batch(0, 0); }};
    for (const auto& call : calls) EXPECT_EQ(code_of_interrupt(call), ErrorCode::kInvalidArgument);
    EXPECT_EQ(loader.state(), state);
    EXPECT_FALSE(loader.explain().empty());
    faults->delay = 0ms;
    return true;
  };
  Loader::Epoch epoch = loader.epoch(call_it);
  EXPECT_GT(asked, 0);
  EXPECT_TRUE(epoch.next());
}

TEST(Interrupt, AClosedLoaderSaysSo) {
  const Dataset data = fake_dataset({4000}, {{4, 20}});
  LoaderOptions options{.batch = Samples{16}};
  options.cache.mode = CacheChoice::kRam;
  Loader loader(data, options);
  loader.close();
  EXPECT_EQ(code_of_interrupt([&] { (void)loader.epoch(); }), ErrorCode::kClosed);
  EXPECT_EQ(code_of_interrupt([&] { loader.preload(); }), ErrorCode::kClosed);
}

/// Though the engine that they came from is replaced.
TEST(Interrupt, FieldsAreThereAsLongAsTheLoader) {
  const Dataset data = fake_dataset({4000}, {{4, 20}, {2, 1}});
  Loader loader(data, {.batch = Samples{16}});
  const std::vector<Field>& fields = loader.fields();
  const Field* const first = &fields[0];
  loader.set_rank(0, 2);
  EXPECT_EQ(rows_of(loader), 2000u);
  EXPECT_EQ(&loader.fields()[0], first);
  EXPECT_EQ(fields[1].name, "a1");
}

}  // namespace
}  // namespace headrace
