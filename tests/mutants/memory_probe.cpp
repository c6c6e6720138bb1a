// Take memory from running loaders, and say whether their batches stay what they were. Run as it is built, every line
// ends in "fine"; linked with a mutant of what drops slots, or goes on with a stopped loader, one must end otherwise.
#include <unistd.h>

#include <cstdio>
#include <vector>

#include "base/memory/memory_budget.h"
#include "dataset/testing/fake_source.h"
#include "dataset/testing/mapped_data.h"
#include "loader/plan/plan_for.h"

namespace headrace {
namespace {

constexpr unsigned kLimitSeconds = 20;  // a mutant may wait for ever

std::vector<testing::Copy> delivered(Loader& loader, const ReclaimRank* from) {
  std::vector<testing::Copy> all;
  std::size_t batches = 0;
  for (int epoch = 0; epoch < 2; ++epoch)
    for (const Batch& batch : loader) {
      all.push_back(testing::copy_of(batch));
      if (from && ++batches % 3 == 0) MemoryBudget::process()->reclaim(~std::uint64_t{0}, {*from, *from});
    }
  return all;
}

bool are_equal(ReclaimRank from) {
  const Dataset data = testing::fake_dataset({700, 300}, {{40, 32}, {3000, 50}, {2, 512}});
  for (const Order& shuffle : {Order(InOrder{}), Order(BlockShuffle{}), Order(ExactShuffle{})}) {
    LoaderOptions options{.batch = Samples{20}, .order = shuffle, .threads = 2};
    Loader easy(data, options);
    const auto want = delivered(easy, nullptr);
    easy.close();
    options.memory = smallest_budget(data, options) * 3;
    Loader hard(data, options);
    if (delivered(hard, &from) != want) return false;
  }
  return true;
}

}  // namespace
}  // namespace headrace

int main() {
  using headrace::ReclaimRank;
  ::alarm(headrace::kLimitSeconds);
  std::printf("slots: %s\n", headrace::are_equal(ReclaimRank::kRunning) ? "fine" : "differs");
  std::printf("all: %s\n", headrace::are_equal(ReclaimRank::kPaused) ? "fine" : "differs");
}
