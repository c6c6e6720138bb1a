// What becomes of an epoch where the system gives no more memory, at whichever allocation of whichever thread of ours.
#include <gtest/gtest.h>
#include <headrace/loader.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/memory/memory_budget.h"
#include "base/testing/failing_new.h"
#include "dataset/testing/fake_source.h"

namespace headrace {
namespace {

using testing::FailingNew;
using testing::fake_dataset;

/// The rows of an epoch, or what ended it.
struct Ended {
  std::uint64_t rows = 0;
  std::optional<Error> error;
};
Ended deliver_until_it_ends(Loader& loader) {
  Ended ended;
  try {
    for (const Batch& batch : loader) ended.rows += batch.rows();
  } catch (const Error& error) {
    ended.error = error;
  }
  return ended;
}

struct Case {
  const char* name;
  LoaderOptions options;
  bool preload = false;  // before memory is short: all batches are gathered
};

std::vector<Case> cases() {
  LoaderOptions plain{.batch = Samples{24}, .order = BlockShuffle{}, .memory = 64 << 20, .threads = 2};
  plain.cache.mode = CacheChoice::kNone;
  LoaderOptions kept = plain;
  kept.cache.mode = CacheChoice::kAuto;
  LoaderOptions all = plain;
  all.cache.mode = CacheChoice::kRam;
  LoaderOptions gathered = all;
  gathered.threads = 1;
  LoaderOptions listed = plain;
  listed.order = InOrder{};
  listed.provenance = true;
  return {{"nothing is kept", plain},
          {"kept", kept},
          {"decoded beforehand", all},
          {"gathered", gathered, true},
          {"in order", listed}};
}

/// Let each allocation of the decode threads fail once, and `others` after it: an epoch is whole, or ends with an
/// error, and the next one is whole. \return How many ended with an error.
std::uint64_t try_every_allocation(const Dataset& data, const Case& one, std::int64_t others) {
  std::uint64_t errors = 0;
  std::int64_t step = 1;
  for (std::int64_t n = 1;; n += step) {
    SCOPED_TRACE(n);
    Loader loader(data, one.options);
    if (one.preload) loader.preload();
    std::uint64_t failed = 0;
    Ended first;
    {
      const FailingNew fails("hr-decode-", n, others);
      first = deliver_until_it_ends(loader);
      failed = fails.failed();
    }
    // The threads were ahead: what failed may be a batch of the next epoch.
    const Ended second = first.error ? Ended{} : deliver_until_it_ends(loader);
    for (const Ended& ended : {first, second}) {
      errors += ended.error.has_value();
      EXPECT_TRUE(!ended.error || ended.error->code() == ErrorCode::kOutOfBudget) << ended.error->what();
    }
    EXPECT_TRUE(first.error || first.rows == data.size());
    EXPECT_TRUE(first.error || second.error || second.rows == data.size());
    const Ended last = deliver_until_it_ends(loader);
    EXPECT_FALSE(last.error) << last.error->what();
    EXPECT_EQ(last.rows, data.size());
    if (failed == 0 || ::testing::Test::HasFailure()) break;
    if (n > 64) step = n / 32;
  }
  return errors;
}

TEST(NoMemory, OnADecodeThreadIsAnErrorOfTheEpochAndTheNextOneIsWhole) {
  const Dataset data = fake_dataset({330, 190}, {{4, 20}, {3, 400}, {2, 1}});
  for (const Case& one : cases())
    for (const std::int64_t others : {0, 3, 1000000}) {
      SCOPED_TRACE(std::string(one.name) + ", others: " + std::to_string(others));
      const std::uint64_t errors = try_every_allocation(data, one, others);
      // What is decoded beforehand and fails is decoded once more, for its batch.
      EXPECT_TRUE(errors > 0 || one.options.cache.mode == CacheChoice::kRam);
    }
}

TEST(NoMemory, ALoaderEndsWithoutAnyAndGivesAllOfItsOwnBack) {
  constexpr std::int64_t kAll = 1'000'000;
  const Dataset data = fake_dataset({330, 190}, {{4, 20}, {3, 400}, {2, 1}});
  for (const Case& one : cases())
    for (const int batches : {-1, 0, 3, 1000}) {  // -1: not even begun; 1000: the whole epoch
      SCOPED_TRACE(std::string(one.name) + ", batches: " + std::to_string(batches));
      const std::uint64_t used_bytes = MemoryBudget::process()->snapshot().used_bytes;
      std::optional<Loader> loader(std::in_place, data, one.options);
      std::optional<Loader::Epoch> epoch;
      if (batches >= 0) epoch = loader->epoch();
      std::optional<Batch> batch;
      for (int i = 0; i < batches && (i == 0 || batch); ++i) batch = epoch->next();
      {
        const FailingNew fails("", 1, kAll);
        batch.reset();
        epoch.reset();
        loader.reset();  // a destructor that throws would end the program
      }
      EXPECT_EQ(MemoryBudget::process()->snapshot().used_bytes, used_bytes);
    }
}

}  // namespace
}  // namespace headrace
