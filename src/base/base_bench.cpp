// What the base pieces cost, in nanoseconds. cmake -DHEADRACE_BUILD_MICROBENCH=ON; then build/…/base_bench.
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

#include "base/clock.h"
#include "base/random/keyed_permutation.h"
#include "base/random/philox.h"
#include "base/stage_clock.h"

namespace {

using headrace::RandomKey;

/// Best of many short turns, nanoseconds an item: short ones escape other programs.
template <class F>
void measure(const char* what, std::uint64_t items, F run) {
  double best = 1e30;
  for (int i = 0; i < 400; ++i) {
    const std::uint64_t start = headrace::now_ns();
    run();
    best = std::min(best, static_cast<double>(headrace::now_ns() - start) / static_cast<double>(items));
  }
  std::printf("%-44s %8.2f ns\n", what, best);
}

}  // namespace

int main() {
  std::uint64_t sink = 0;
  for (const std::size_t n : {512u, 4096u}) {
    std::vector<std::uint32_t> items(n);
    std::iota(items.begin(), items.end(), 0);
    char name[64];
    std::snprintf(name, sizeof name, "shuffle %zu uint32, an element", n);
    measure(name, 4 * n, [&] {
      for (std::uint64_t i = 0; i < 4; ++i) headrace::keyed_shuffle(std::span(items), RandomKey::of({1, 2, i}));
    });
  }
  measure("RandomKey of three words", 2'000, [&] {
    for (std::uint64_t i = 0; i < 2'000; ++i) sink += RandomKey::of({1, 2, i}).low;
  });
  for (const std::uint64_t n :
       {std::uint64_t{1'000'000'000}, (std::uint64_t{1} << 30) + 1, (std::uint64_t{1} << 27) + 1}) {
    const headrace::KeyedPermutation order(n, RandomKey::of({3}));
    char name[64];
    std::snprintf(name, sizeof name, "permutation of %llu, an index", static_cast<unsigned long long>(n));
    measure(name, 2'000, [&] {
      for (std::uint64_t i = 0; i < 2'000; ++i) sink += order(i);
    });
  }
  headrace::StageBoard board;
  headrace::StageClock& clock = board.add_thread();
  measure("clock read", 2'000, [&] {
    for (int i = 0; i < 2'000; ++i) sink += headrace::now_ns();
  });
  measure("stage span", 2'000, [&] {
    for (int i = 0; i < 2'000; ++i) headrace::StageSpan span(clock, headrace::Stage::kRead);
  });
  measure("stage switch", 2'000, [&] {
    headrace::StageSpan span(clock, headrace::Stage::kRead);
    for (int i = 0; i < 2'000; ++i) span.switch_to(headrace::Stage::kDecode);
  });
  std::printf("(%llu)\n", static_cast<unsigned long long>(sink & 1));
}
