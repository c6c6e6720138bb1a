// Transforms of rows that come from a cache: also of rows that are kept encoded in several parts, which are put
// together before they are transformed.
#include <gtest/gtest.h>
#include <headrace/loader.h>

#include <cstdlib>
#include <map>

#include "dataset/testing/fake_source.h"

namespace headrace {
namespace {

using testing::fake_dataset;
using testing::fake_value;
using testing::FakeFaults;

constexpr std::uint64_t kHigh = 77, kWide = 38, kWidth = kHigh * kWide;  // also the pairs of 77 particles
constexpr std::uint64_t kKeptRows = 2200;

/// Rows of array 0 have 11,704 bytes: two parts.
Dataset long_rows(const std::shared_ptr<FakeFaults>& faults) {
  constexpr std::uint64_t kPart = 8 << 10;  // about, of what is encoded by itself
  static_assert(kWidth * 4 > kPart && kWidth == kHigh * (kHigh - 1) / 2);
  return fake_dataset({1500, 700}, {{kWidth, 16}, {3, 64}}, faults);  // 25 MB in 138 blocks
}

/// What a batch was, or why there was none.
struct Delivery {
  std::map<std::string, std::vector<std::byte>> fields;
  std::string error;
  friend bool operator==(const Delivery&, const Delivery&) = default;
};

/// An epoch, up to its end or its first error.
std::vector<Delivery> epoch_of(Loader& loader, std::uint64_t number) {
  std::vector<Delivery> all;
  loader.set_epoch(number);
  Loader::Epoch epoch = loader.epoch();
  while (all.empty() || all.back().error.empty()) {
    Delivery delivery;
    try {
      const std::optional<Batch> batch = epoch.next();
      if (!batch) break;
      for (std::size_t f = 0; f < batch->fields().size(); ++f) {
        const std::byte* const bytes = batch->array(f).data();
        delivery.fields[batch->fields()[f].name] = {bytes, bytes + batch->array(f).size_bytes()};
      }
    } catch (const Error& error) {
      delivery.error = error.what();
    }
    all.push_back(std::move(delivery));
  }
  return all;
}

LoaderOptions shuffled(CacheChoice::Mode mode, std::uint64_t memory = 0) {
  LoaderOptions options;
  options.batch = Samples{32};
  options.order = BlockShuffle{{4, 8}};
  options.seed = 3;
  options.threads = 2;
  options.provenance = true;
  options.cache.mode = mode;
  if (memory != 0) options.memory = memory;
  return options;
}

/// HEADRACE_KEEP_SHARE for the length of a test: blocks are kept at once.
struct KeepEverything {
  KeepEverything() { ::setenv("HEADRACE_KEEP_SHARE", "inf", 1); }
  ~KeepEverything() { ::unsetenv("HEADRACE_KEEP_SHARE"); }
  KeepEverything(const KeepEverything&) = delete;
  KeepEverything& operator=(const KeepEverything&) = delete;
};

/// Three epochs of each way to keep rows, which must equal those of a loader that keeps nothing. \param ends  Epochs
/// come to their end, not to an error.
void expect_same_however_kept(const Dataset& data, FakeFaults& faults, bool ends) {
  const KeepEverything everything;
  Loader plain(data, shuffled(CacheChoice::kNone));
  std::vector<std::vector<Delivery>> want;
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) want.push_back(epoch_of(plain, epoch));
  plain.close();
  std::map<std::string, int> seen;
  for (const std::uint64_t memory : {0u, 14u << 20, 17u << 20, 20u << 20, 26u << 20}) {
    Loader loader(data, shuffled(memory == 0 ? CacheChoice::kRam : CacheChoice::kAuto, memory));
    for (int round = 0; round < 2; ++round)
      for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
        const std::uint64_t decodes = faults.decodes;
        ASSERT_TRUE(epoch_of(loader, epoch) == want[epoch]) << loader.report().text();
        const Report report = loader.report();
        const bool whole = report.cache.complete && faults.decodes == decodes;
        ++seen[report.cache.kind + ", " + report.cache.coding + (whole ? ", all of it" : "")];
      }
  }
  // This is about blocks that are kept encoded, about all rows, and about epochs that decode nothing.
  std::string kinds;
  bool encoded = false, rows = false;
  for (const auto& [kind, count] : seen) {
    kinds += kind + "\n";
    encoded = encoded || kind.starts_with("blocks, LZ4") || kind.starts_with("blocks, shuffle");
    rows = rows || (kind.starts_with("all rows") && kind.ends_with("all of it"));
  }
  EXPECT_TRUE(encoded && (rows || !ends)) << kinds;
}

TEST(TransformedKept, LongRowsAreTransformedWholeHoweverTheyAreKept) {
  const auto faults = std::make_shared<FakeFaults>();
  faults->delay = std::chrono::microseconds(300);  // then re-encoding pays
  const std::vector<double> shape = {kHigh, kWide};
  const Dataset data = long_rows(faults).map({{"Reshape", {"a0"}, {{"shape", shape}}},
                                              {"Transpose", {"a0"}, {}},
                                              {"Noise", {"a1"}, {{"std", 1.0}, {"to", std::string("noisy")}}}});
  // What a loop over the files' rows gives.
  Loader plain(data, shuffled(CacheChoice::kNone));
  for (const Batch& batch : plain) {
    const auto* made = reinterpret_cast<const std::uint32_t*>(batch["a0"].data());
    const auto* others = reinterpret_cast<const std::uint32_t*>(batch["a1"].data());
    for (std::uint64_t i = 0; i < batch.rows(); ++i) {
      const std::uint64_t row = (others[i * 3] - fake_value(1, 0, 0)) / 1009;
      ASSERT_LT(row, kKeptRows);
      for (std::uint64_t x = 0; x < kWide; ++x)
        for (std::uint64_t y = 0; y < kHigh; ++y)
          ASSERT_EQ(made[(i * kWide + x) * kHigh + y], fake_value(0, row, y * kWide + x));
    }
  }
  plain.close();
  expect_same_however_kept(data, *faults, true);
}

TEST(TransformedKept, SamplesThatATransformCannotTakeAreTheErrorOfTheirBatchHoweverTheyAreKept) {
  const auto faults = std::make_shared<FakeFaults>();
  faults->delay = std::chrono::microseconds(300);
  // A value of rows 331, 332 and 333 alone, among others: a sentinel between real pairs.
  const double sentinel = fake_value(0, 333, 5);
  const Dataset data = long_rows(faults).map({{"SymmetricPairs", {"a0"}, {{"sentinel", sentinel}}}});
  Loader plain(data, shuffled(CacheChoice::kNone));
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    const std::string error = epoch_of(plain, epoch).back().error;
    EXPECT_NE(error.find("SymmetricPairs(a0"), std::string::npos) << error;
    EXPECT_NE(error.find("sample 33"), std::string::npos) << error;
  }
  plain.close();
  expect_same_however_kept(data, *faults, false);
}

}  // namespace
}  // namespace headrace
