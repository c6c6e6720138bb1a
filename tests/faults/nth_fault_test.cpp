// The n-th allocation, thread start, read, open or mapping fails, over whole uses of a loader: each ends with the right
// data or with errors of ours, and leaves nothing behind.
//
// HEADRACE_EVERY_FAULT=1 tries every n; HEADRACE_EVERY_FAULT=2718-2720 these; otherwise some of them,
// among them the first and the last. How often something is asked for depends on the threads, so that not every run has
// every n.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "base/testing/temporary_folder.h"
#include "run_apart.h"

namespace headrace::faults {
namespace {

const Data& data_of(Keeping keeping) {
  static const TemporaryFolder folder, larger;
  static const Data usual = Data::write(folder.path(), Keeping::kNothing);
  static const Data encoded = Data::write(larger.path(), Keeping::kEncoded);
  return keeping == Keeping::kEncoded ? encoded : usual;
}

class NthFault : public ::testing::TestWithParam<std::tuple<Keeping, Kind, bool>> {};

/// Which events to let fail, of `count`: all, a range, or about as many as there is time for. The last is one that does
/// not come.
std::vector<std::uint64_t> chosen_events(std::uint64_t count, Kind kind) {
  std::uint64_t first = 0, last = count, step = 1;
  if (const char* const wish = std::getenv("HEADRACE_EVERY_FAULT")) {
    if (const char* const dash = std::strchr(wish, '-')) {
      first = std::strtoull(wish, nullptr, 10);
      last = std::strtoull(dash + 1, nullptr, 10);
    }
  } else {
    step = std::max<std::uint64_t>(1, count / (kind == Kind::kAllocation ? 40 : 12));
  }
  std::vector<std::uint64_t> events;
  for (std::uint64_t n = first; n < last; n += step) events.push_back(n);
  events.push_back(last);
  return events;
}

TEST_P(NthFault, EndsWithTheDataOrWithAnErrorOfOurs) {
  const auto [keeping, kind, lasting] = GetParam();
  std::uint64_t count = 0, runs = 0, wrong = 0, with_errors = 0;
  const Data& data = data_of(keeping);
  run_apart(data, keeping, {kind, kNever, lasting}, std::array{kNever}, [&](std::uint64_t, const Ending& plain) {
    EXPECT_TRUE(plain.right) << plain.text;
    count = plain.counted.events;
  });
  EXPECT_GT(count, 0) << "nothing is counted that could fail";
  if (HasFailure()) return;
  run_apart(data, keeping, {kind, kNever, lasting}, chosen_events(count, kind),
            [&](std::uint64_t n, const Ending& ending) {
              ++runs;
              EXPECT_TRUE(n > 0 || ending.counted.failed > 0) << "the first event did not fail";
              with_errors += ending.right && !ending.text.empty() ? 1 : 0;
              if (!ending.right && ++wrong <= 20)
                ADD_FAILURE() << "event " << n << " of " << count << ": " << ending.text;
            });
  EXPECT_TRUE(!lasting || with_errors > 0) << "what fails for good is not noticed";
  std::printf("%llu events: %llu runs, %llu with errors of ours, %llu wrong\n", static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(runs), static_cast<unsigned long long>(with_errors),
              static_cast<unsigned long long>(wrong));
}

std::string name_of(const ::testing::TestParamInfo<NthFault::ParamType>& info) {
  const char* const keepings[] = {"Nothing", "Ram", "Encoded", "Directory", "Host", "Preload"};
  const char* const kinds[] = {"Allocation", "ThreadStart", "Read", "Open", "Mapping"};
  const auto [keeping, kind, lasting] = info.param;
  return std::string(keepings[static_cast<int>(keeping)]) + kinds[static_cast<int>(kind)] +
         (lasting ? "Lasting" : "Once");
}

INSTANTIATE_TEST_SUITE_P(Faults, NthFault,
                         ::testing::Combine(::testing::Values(Keeping::kNothing, Keeping::kRam, Keeping::kEncoded,
                                                              Keeping::kDirectory, Keeping::kHost, Keeping::kPreload),
                                            ::testing::Values(Kind::kAllocation, Kind::kThreadStart, Kind::kRead,
                                                              Kind::kOpen, Kind::kMapping),
                                            ::testing::Bool()),
                         name_of);

}  // namespace
}  // namespace headrace::faults
