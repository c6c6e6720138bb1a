#include "loader/plan/window_decodes.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace headrace {
namespace {

constexpr std::uint64_t kMostSamples = 1 << 21;

struct BlockSteps {
  std::uint64_t seen = 0;
  std::vector<std::uint32_t> steps;  // ascending, each once, in which this rank wants rows of it
};

/// A claim serves all requests of `window` steps from the first unserved one on.
std::uint64_t claims_of(const std::vector<std::uint32_t>& steps, std::uint64_t window) {
  std::uint64_t claims = 0;
  for (std::size_t i = 0; i < steps.size(); ++claims) {
    const std::uint64_t end = steps[i] + window;
    while (i < steps.size() && steps[i] < end) ++i;
  }
  return claims;
}

}  // namespace

double window_decodes(const EnginePlan& plan) {
  const double bound = plan.expected_decodes();
  if (bound <= 1 || plan.online || !plan.sampler->traits().local) return bound;
  const std::uint64_t batch = std::max<std::uint64_t>(plan.global_batch, 1);
  const auto cursor = plan.sampler->cursor({0, 0, batch, plan.share});
  const std::uint64_t steps =
      std::min({plan.num_batches, std::max<std::uint64_t>(kMostSamples / batch, 2), std::uint64_t{~std::uint32_t{0}}});
  // A consumer has one batch or none in its hands when blocks are claimed; the plan's own window leaves room for two.
  const std::uint64_t longest = std::max<std::uint64_t>(plan.slots, 1),
                      shorter = std::max<std::uint64_t>(longest, 2) - 1;
  std::unordered_map<std::uint32_t, BlockSteps> open;
  std::vector<SampleRef> samples;
  std::vector<BlockRows> counted_elsewhere;
  std::uint64_t blocks = 0, claims = 0;
  for (std::uint32_t step = 0; step < steps; ++step) {
    samples.clear(), counted_elsewhere.clear();
    cursor->next_step(samples, counted_elsewhere);
    const auto see = [&](std::uint32_t block, std::uint64_t rows, bool ours) {
      BlockSteps& b = open[block];
      b.seen += rows;
      if (ours && (b.steps.empty() || b.steps.back() != step)) b.steps.push_back(step);
    };
    for (const SampleRef s : samples) see(s.block, 1, true);
    for (const BlockRows s : counted_elsewhere) see(s.block, s.rows, false);
    const auto finish = [&](std::uint32_t block) {  // false: the order does not say how many rows there will be
      const auto at = open.find(block);
      if (at == open.end()) return true;
      const std::uint64_t rows = cursor->rows_in(block);
      if (rows == 0 || at->second.seen < rows) return rows != 0;
      if (!at->second.steps.empty()) {
        blocks += 2;
        claims += claims_of(at->second.steps, longest) + claims_of(at->second.steps, shorter);
      }
      open.erase(at);
      return true;
    };
    for (const SampleRef s : samples)
      if (!finish(s.block)) return bound;
    for (const BlockRows s : counted_elsewhere)
      if (!finish(s.block)) return bound;
  }
  return blocks == 0 ? bound : static_cast<double>(claims) / static_cast<double>(blocks);
}

}  // namespace headrace
