// Whatever is kept between epochs, batches are the same; and memory goes to the loader that needs it.
#include <gtest/gtest.h>
#include <headrace/bytes.h>
#include <headrace/loader.h>
#include <rapidcheck.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "base/memory/memory_budget.h"
#include "base/testing/temporary_folder.h"
#include "dataset/testing/fake_source.h"

namespace headrace {
namespace {

using testing::fake_dataset;
using testing::FakeFaults;
using testing::FakeShape;

/// HEADRACE_KEEP_SHARE for the length of a test: how much of the other work keeping may cost while a consumer waits.
struct KeepShare {
  explicit KeepShare(const char* share) { ::setenv("HEADRACE_KEEP_SHARE", share, 1); }
  ~KeepShare() { ::unsetenv("HEADRACE_KEEP_SHARE"); }
  KeepShare(const KeepShare&) = delete;
  KeepShare& operator=(const KeepShare&) = delete;
};

/// The process's limit for the length of a test.
struct Limit {
  const std::uint64_t before = MemoryBudget::process()->limit_bytes();
  explicit Limit(std::uint64_t bytes) { MemoryBudget::process()->set_limit(bytes); }
  ~Limit() { MemoryBudget::process()->set_limit(before); }
};

using Bytes = std::vector<std::vector<std::byte>>;
Bytes deliver(Loader& loader, int epochs) {
  Bytes all;
  for (int e = 0; e < epochs; ++e)
    for (const Batch& batch : loader)
      for (std::size_t f = 0; f < batch.fields().size(); ++f) {
        const std::byte* const bytes = batch.array(f).data();
        all.emplace_back(bytes, bytes + batch.array(f).size_bytes());
      }
  return all;
}

TEST(Keeping, CachedIsUncached) {
  EXPECT_TRUE(rc::check([] {
    std::vector<std::uint64_t> files;
    for (int n = *rc::gen::inRange(1, 4); n > 0; --n) files.push_back(*rc::gen::inRange<std::uint64_t>(1, 300));
    const auto chunk = [] { return *rc::gen::element<std::uint64_t>(1, 7, 16, 24, 64); };
    Dataset data =
        fake_dataset(files, {{40, chunk()}, {3, chunk()}, {*rc::gen::element<std::uint64_t>(50, 5000), chunk()}});
    if (*rc::gen::arbitrary<bool>()) {
      std::vector<std::uint64_t> rows;
      const std::uint64_t stride = *rc::gen::inRange<std::uint64_t>(1, 5);
      for (std::uint64_t r = 0; r < data.size(); r += stride) rows.push_back(r);
      data = data.select(rows);
    }
    LoaderOptions options;
    options.batch = Samples{*rc::gen::inRange<std::uint64_t>(1, 120)};
    options.order = *rc::gen::element<Order>(InOrder{}, BlockShuffle{}, ExactShuffle{});
    options.provenance = *rc::gen::arbitrary<bool>();
    options.threads = 1;
    options.cache.mode = CacheChoice::kNone;
    Loader plain(data, options);
    const Bytes want = deliver(plain, 3);

    const TemporaryFolder directory;
    const KeepShare share(*rc::gen::element("0", "0.12", "inf"));
    options.threads = *rc::gen::inRange<std::uint32_t>(1, 5);
    options.cache.mode = *rc::gen::element(CacheChoice::kAuto, CacheChoice::kRam, CacheChoice::kDirectory);
    options.cache.directory = directory.path();
    if (options.cache.mode == CacheChoice::kAuto) {  // from hardly anything to everything
      const std::uint64_t window = plain.report().memory.planned_bytes, bytes = data.size() * data.sample_bytes();
      options.memory = window + *rc::gen::inRange<std::uint64_t>(0, 2 * bytes);
    }
    Loader loader(data, options);
    RC_ASSERT(deliver(loader, 3) == want);
    const Report report = loader.report();
    RC_TAG(report.cache.kind);
    RC_ASSERT(report.memory.peak_bytes <= report.memory.budget_bytes);
    if (options.cache.mode == CacheChoice::kRam) RC_ASSERT(report.cache.complete);
    if (options.cache.mode == CacheChoice::kDirectory) {
      RC_ASSERT(report.notices.empty());
      RC_ASSERT(report.cache.complete);
      loader.close();
      Loader again(data, options);
      RC_ASSERT(deliver(again, 3) == want);
      RC_ASSERT(again.report().chunks_decoded == 0u);
    }
  }));
}

TEST(Keeping, SomeBlocksAreKeptWhereNotAllFit) {
  const KeepShare everything("inf");
  EXPECT_TRUE(rc::check([] {  // seeds of RC_PARAMS
    const auto faults = std::make_shared<FakeFaults>();
    const Dataset data = fake_dataset({1500, 700}, {{1000, 16}, {3, 64}}, faults);  // 8.8 MB in 18 blocks
    LoaderOptions options;
    options.batch = Samples{*rc::gen::inRange<std::uint64_t>(8, 40)};
    if (*rc::gen::arbitrary<bool>()) faults->delay = std::chrono::microseconds(50);  // then re-encoding pays
    options.order = *rc::gen::element<Order>(InOrder{}, BlockShuffle{});
    if (options.order.is<BlockShuffle>()) options.order = BlockShuffle{{2, 2}};
    options.threads = 1;
    options.cache.mode = CacheChoice::kNone;
    options.memory = 4 << 20;
    Loader plain(data, options);
    const Bytes want = deliver(plain, 3);
    const std::uint64_t decodes = faults->decodes.exchange(0);
    options.threads = *rc::gen::inRange<std::uint32_t>(1, 4);
    options.cache.mode = CacheChoice::kAuto;
    options.memory = *rc::gen::inRange<std::uint64_t>(5 << 20, 12 << 20);
    Loader loader(data, options);
    RC_ASSERT(deliver(loader, 3) == want);
    const Report report = loader.report();
    RC_TAG(report.cache.kind + " " + report.cache.coding);
    RC_ASSERT(report.memory.peak_bytes <= report.memory.budget_bytes);
    constexpr std::uint64_t kProbed = 4 * 10;  // the probe of encodings decodes four blocks of eight and two chunks
    if (report.cache.kind == "blocks") RC_ASSERT(report.cache.hits > 0 && faults->decodes < decodes + kProbed);
  }));
}

TEST(Keeping, EverythingIsDecodedOnceWhereItFits) {
  const auto faults = std::make_shared<FakeFaults>();
  const Dataset data = fake_dataset({500, 300}, {{4096, 16}, {3, 16}}, faults);
  const KeepShare everything("inf");
  for (const Order& shuffle : {Order(BlockShuffle{}), Order(ExactShuffle{})}) {
    faults->decodes = 0;
    LoaderOptions options;
    options.batch = Samples{32};
    options.order = shuffle;
    options.threads = 3;
    Loader loader(data, options);
    deliver(loader, 4);
    EXPECT_EQ(faults->decodes, 2u * (32 + 19));
    EXPECT_TRUE(loader.report().cache.complete);
    EXPECT_EQ(loader.report().cache.kind, "all rows");
  }
}

LoaderOptions shuffled_and_uncached() {
  LoaderOptions options;
  options.batch = Samples{32};
  options.order = BlockShuffle{{4, 8}};
  options.threads = 2;
  options.cache.mode = CacheChoice::kNone;
  return options;
}

/// A budget in which all blocks fit encoded, but not as they are.
std::uint64_t budget_for_encoded(const Dataset& data, LoaderOptions options) {
  for (options.memory = 5 << 20; options.memory < 16 << 20; options.memory += 1 << 18) {
    Loader loader(data, options);
    deliver(loader, 1);
    if (loader.explain().find("all blocks, re-encoded") != std::string::npos) return options.memory;
  }
  ADD_FAILURE() << "no budget is of that kind";
  return 16 << 20;
}

TEST(Keeping, EverythingIsKeptAfterSomeEpochsWhateverTheFirstKept) {
  const auto faults = std::make_shared<FakeFaults>();
  faults->delay = std::chrono::microseconds(300);  // longer than it takes to keep a block, so that keeping pays
  const Dataset data = fake_dataset({1500, 700}, {{1000, 16}, {3, 64}}, faults);  // 8.8 MB in 138 blocks
  LoaderOptions options = shuffled_and_uncached();
  Loader plain(data, options);
  const Bytes want = deliver(plain, 3);
  options.cache.mode = CacheChoice::kAuto;
  const std::uint64_t encoded_bytes = budget_for_encoded(data, options);
  for (const std::uint64_t memory : {encoded_bytes, std::uint64_t{64} << 20})
    for (const char* const share : {"0", "0.12", "inf"}) {
      const KeepShare limited(share);
      options.memory = memory;
      Loader loader(data, options);
      EXPECT_TRUE(deliver(loader, 3) == want) << memory << " " << share;
      for (int epoch = 0; epoch < 40 && !loader.report().cache.complete; ++epoch) deliver(loader, 1);
      const Report report = loader.report();
      EXPECT_TRUE(report.cache.complete) << report.text() << share;
      EXPECT_EQ(report.cache.kind, memory == encoded_bytes ? "blocks" : "all rows");
      EXPECT_LE(report.memory.peak_bytes, report.memory.budget_bytes);
      faults->decodes = 0;
      deliver(loader, 2);
      EXPECT_EQ(faults->decodes, 0u) << report.cache.kind << " " << share;
      loader.set_epoch(0);
      EXPECT_TRUE(deliver(loader, 3) == want) << memory << " " << share;
    }
}

TEST(Keeping, WhatIsKeptEncodedMakesAShortWindowAMatterOfTheFirstEpochs) {
  const auto faults = std::make_shared<FakeFaults>();
  faults->delay = std::chrono::microseconds(300);                                 // then re-encoding pays
  const Dataset data = fake_dataset({1500, 700}, {{1000, 16}, {3, 16}}, faults);  // 8.8 MB, 138 chunks of each array
  LoaderOptions options{.batch = Samples{32}, .order = ExactShuffle{}, .threads = 2};
  options.memory = budget_for_encoded(data, options);
  const auto is_said = [](const Loader& loader) {
    return loader.explain().find("every block once an epoch, and none once all are kept") != std::string::npos;
  };
  faults->decodes = 0;
  Loader loader(data, options);
  deliver(loader, 1);
  EXPECT_GT(faults->decodes, 2u * 138);  // some of them again
  for (int epoch = 0; epoch < 40 && !loader.report().cache.complete; ++epoch) deliver(loader, 1);
  EXPECT_TRUE(is_said(loader)) << loader.explain();
  faults->decodes = 0;
  deliver(loader, 1);
  EXPECT_EQ(faults->decodes, 0u);
  options.memory = mebibytes(64);
  EXPECT_FALSE(is_said(Loader(data, options)));
}

TEST(Keeping, BlocksThatTheFirstBatchWantedInAHurryAreKeptInSpareTime) {
  const auto faults = std::make_shared<FakeFaults>();
  faults->delay = std::chrono::microseconds(300);
  const Dataset data = fake_dataset({6000, 2800}, {{1000, 16}, {3, 64}}, faults);  // 35 MB in 550 blocks
  LoaderOptions options = shuffled_and_uncached();
  // 32 blocks for the first batch; the window is a quarter of the epoch.
  options.cache.mode = CacheChoice::kAuto;
  options.memory = std::uint64_t{64} << 20;
  const KeepShare nothing("0");  // but what no consumer waits for
  Loader loader(data, options);
  for (const Batch& batch : loader) {
    EXPECT_GT(batch.rows(), 0u);
    for (std::uint64_t kept = 0; kept < loader.report().cache.blocks;) {  // on a busy machine 5 ms are soon over
      kept = loader.report().cache.blocks;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  const Report report = loader.report();
  EXPECT_EQ(report.cache.kind, "all rows");
  EXPECT_TRUE(report.cache.complete) << report.text();
  EXPECT_LE(report.memory.peak_bytes, report.memory.budget_bytes);
  EXPECT_LE(report.read_amplification, 1.0);  // what it decoded for keeping says nothing about the chunks
}

std::vector<std::byte> bytes_of(const Batch& batch) {
  std::vector<std::byte> all;
  for (std::size_t f = 0; f < batch.fields().size(); ++f) {
    const std::byte* const bytes = batch.array(f).data();
    all.insert(all.end(), bytes, bytes + batch.array(f).size_bytes());
  }
  return all;
}

TEST(Keeping, WhateverTheConsumerDoesInTheFirstEpochBatchesAreTheSame) {
  const auto faults = std::make_shared<FakeFaults>();
  faults->delay = std::chrono::microseconds(50);
  const Dataset data = fake_dataset({1500, 700}, {{1000, 16}, {3, 64}}, faults);
  LoaderOptions options = shuffled_and_uncached();
  Loader plain(data, options);
  Bytes want;
  for (const Batch& batch : plain) want.push_back(bytes_of(batch));
  plain.close();  // its threads read ahead, and look at the faults
  options.cache.mode = CacheChoice::kAuto;
  const std::uint64_t encoded_bytes = budget_for_encoded(data, options);
  EXPECT_TRUE(rc::check([&] {
    options.memory = *rc::gen::element(encoded_bytes, std::uint64_t{64} << 20);
    options.threads = *rc::gen::inRange<std::uint32_t>(1, 4);
    faults->delay = std::chrono::microseconds(*rc::gen::element(0, 0, 0, 0, 0, 50));  // then re-encoding pays
    const bool holds = *rc::gen::arbitrary<bool>(), shrinks = *rc::gen::arbitrary<bool>();
    std::unique_ptr<Limit> limit;  // of the process, which ends where it began
    Loader loader(data, options);
    std::vector<std::pair<std::size_t, Batch>> held;
    for (int visits = 2; visits > 0; --visits) {
      const auto stop_at = *rc::gen::inRange<std::size_t>(1, want.size() + 1);
      const auto pause_every = *rc::gen::inRange<std::size_t>(5, 20);
      loader.set_epoch(0);
      Loader::Epoch epoch = loader.epoch();
      for (std::size_t i = 0; i < stop_at; ++i) {  // it may stop in the middle, and begin again
        std::optional<Batch> batch = epoch.next();
        RC_ASSERT(batch.has_value());
        RC_ASSERT(bytes_of(*batch) == want[i]);
        if (holds && i < 4) held.emplace_back(i, std::move(*batch));
        if (i % pause_every == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        if (shrinks && !limit && i == stop_at / 2)
          limit = std::make_unique<Limit>(
              std::max<std::uint64_t>(MemoryBudget::process()->snapshot().used_bytes / 2, 1 << 20));
      }
    }
    for (const auto& [i, batch] : held) RC_ASSERT(bytes_of(batch) == want[i]);
    const Report report = loader.report();
    RC_TAG(report.cache.kind + (shrinks ? ", less memory" : ""));
    if (!shrinks) RC_ASSERT(report.memory.peak_bytes <= report.memory.budget_bytes + report.memory.held_over_bytes);
  }));
}

TEST(Keeping, PreloadTellsOfItsProgress) {
  const Dataset data = fake_dataset({500, 300}, {{4096, 16}, {3, 16}});
  LoaderOptions options;
  options.batch = Samples{32};
  options.cache.mode = CacheChoice::kRam;
  Loader loader(data, options);
  std::uint64_t done = 0, all = 0;
  loader.preload([&](std::uint64_t d, std::uint64_t a) { return done = d, all = a, true; });
  EXPECT_EQ(done, all);
  EXPECT_EQ(all, 51u);
  EXPECT_TRUE(loader.report().cache.complete);
  EXPECT_EQ(deliver(loader, 1).size(), 2 * loader.num_batches());

  options.cache.mode = CacheChoice::kNone;
  Loader none(data, options);
  EXPECT_THROW(none.preload(), Error);
}

TEST(Keeping, WhatDoesNotFitIsRefusedWithTheNumbers) {
  const Dataset data = fake_dataset({5000}, {{4000, 16}});
  LoaderOptions options;
  options.batch = Samples{32};
  options.cache.mode = CacheChoice::kRam;
  options.memory = 32 << 20;
  try {
    const Loader loader(data, options);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kOutOfBudget);
    EXPECT_NE(std::string(e.hint()).find("memory="), std::string::npos) << e.hint();
  }
}

TEST(Keeping, DamageIsRaisedAtTheSameBatchWhateverIsKept) {
  const auto faults = std::make_shared<FakeFaults>();
  faults->bad_rows = {333};
  const Dataset data = fake_dataset({500, 300}, {{4096, 16}, {3, 16}}, faults);
  const TemporaryFolder directory;
  std::vector<std::size_t> at;
  for (const auto mode : {CacheChoice::kNone, CacheChoice::kAuto, CacheChoice::kRam, CacheChoice::kDirectory}) {
    faults->mended = false;
    LoaderOptions options;
    options.batch = Samples{32};
    options.order = BlockShuffle{};
    options.cache = {mode, directory.path()};
    Loader loader(data, options);
    std::size_t batches = 0;
    try {
      for (const Batch& batch : loader) batches += batch.rows() > 0;
      ADD_FAILURE() << "no error";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kCorruptData);
    }
    at.push_back(batches);
    faults->mended = true;
    loader.set_epoch(0);
    EXPECT_EQ(deliver(loader, 1).size(), 2 * loader.num_batches());
  }
  for (const std::size_t batches : at) EXPECT_EQ(batches, at[0]);
}

TEST(Keeping, ACacheThatAnotherUserMadeIsUsedWithANotice) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder to another user";
  const Dataset data = fake_dataset({500, 300}, {{16, 16}});
  const TemporaryFolder folder;
  const std::string directory = folder.path("cache");  // not where everybody may make folders
  LoaderOptions options{.batch = Samples{32}};
  options.cache = {CacheChoice::kDirectory, directory};
  Loader first(data, options);
  const Bytes want = deliver(first, 1);
  EXPECT_TRUE(first.notices().empty());
  first.close();
  ASSERT_EQ(::chown(directory.c_str(), 12345, 12345), 0);
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    ASSERT_EQ(::chown(entry.path().c_str(), 12345, 12345), 0);
  Loader again(data, options);
  EXPECT_EQ(deliver(again, 1), want);
  EXPECT_TRUE(again.report().cache.complete);
  ASSERT_EQ(again.notices().size(), 1u);
  EXPECT_NE(again.notices()[0].find("user 12345 made this cache"), std::string::npos) << again.notices()[0];
}

TEST(Keeping, ACacheGivesWayToAnotherLoadersWindow) {
  const Dataset data = fake_dataset({4000}, {{2000, 16}});  // 32 MB
  const Limit limit(20 << 20);
  const KeepShare everything("inf");
  LoaderOptions options;
  options.batch = Samples{32};
  options.threads = 1;
  Loader train(data, options);
  Loader::Epoch epoch = train.epoch();
  while (epoch.next()) {
  }
  Loader::Epoch live = train.epoch();
  ASSERT_TRUE(live.next());
  EXPECT_EQ(train.report().cache.kind, "blocks");
  EXPECT_GT(train.report().cache.bytes, 0u);
  // Others take all but a little of what is left.
  auto others = MemoryBudget::process()->try_reserve(MemoryTag::kOther, MemoryBudget::process()->free_bytes() - 600000);
  ASSERT_TRUE(others.ok());
  const std::uint64_t cached = train.report().cache.bytes;
  options.cache.mode = CacheChoice::kNone;
  options.batch = Samples{8};
  Loader valid(data, options);
  EXPECT_EQ(deliver(valid, 1).size(), valid.num_batches());
  EXPECT_LT(train.report().cache.bytes, cached);
  while (live.next()) {
  }
  EXPECT_LE(MemoryBudget::process()->snapshot().used_bytes, MemoryBudget::process()->limit_bytes());
}

TEST(Keeping, AnIdleLoaderGivesItsWindowBack) {
  const Dataset data = fake_dataset({4000}, {{2000, 16}});
  const Limit limit(12 << 20);
  LoaderOptions options;
  options.batch = Samples{400};  // 3.2 MB: the two loaders' smallest windows do not fit beside each other
  options.threads = 1;
  options.cache.mode = CacheChoice::kNone;
  Loader a(data, options), b(data, options);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(deliver(a, 1).size(), a.num_batches());
    EXPECT_EQ(deliver(b, 1).size(), b.num_batches());
  }
  Loader::Epoch live = a.epoch();
  ASSERT_TRUE(live.next());
  EXPECT_EQ(deliver(b, 1).size(), b.num_batches());  // and one that is iterated goes on afterwards
  for (std::uint64_t batch = 1; batch < a.num_batches(); ++batch) ASSERT_TRUE(live.next());
  EXPECT_FALSE(live.next());
}

}  // namespace
}  // namespace headrace
