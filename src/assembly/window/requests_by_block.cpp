#include "assembly/window/requests_by_block.h"

#include <algorithm>
#include <numeric>

namespace headrace {

RequestsByBlock::RequestsByBlock(std::span<const SampleRef> samples) {
  std::vector<std::uint32_t> order(samples.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return samples[i].block; });
  requests.reserve(samples.size());
  for (const std::uint32_t i : order) {
    if (blocks.empty() || blocks.back().unit != samples[i].block)
      blocks.push_back({samples[i].block, requests.size(), 0});
    requests.push_back({samples[i].row, i});
    blocks.back().end = requests.size();
  }
}

}  // namespace headrace
