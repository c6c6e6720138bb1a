// A mixture for property tests.
#pragma once

#include <rapidcheck.h>

#include <memory>
#include <utility>
#include <vector>

#include "order/sampler.h"

namespace headrace {

/// The files of `blocks` as parts of a mixture, at random weights, each in an order of its own.
inline std::shared_ptr<const Sampler> random_mixture(const std::shared_ptr<const BlockTable>& blocks) {
  std::vector<MixturePart> parts;
  for (std::size_t f = 0; f < blocks->num_files(); ++f) {
    const auto part = std::make_shared<const BlockTable>(blocks->of_files(f, 1));
    if (part->num_rows() == 0) continue;
    const std::uint64_t seed = *rc::gen::inRange<std::uint64_t>(0, 9);
    std::shared_ptr<const Sampler> sampler = make_sequential(part);
    if (const int kind = *rc::gen::inRange(0, 3); kind == 1)
      sampler = make_block_shuffle(part, BlockShuffleShape{*rc::gen::inRange<std::uint32_t>(1, 9), 2}, seed);
    else if (kind == 2)
      sampler = make_global_shuffle(part, seed);
    parts.push_back({"", sampler, blocks->first_block_of(f), *rc::gen::inRange(1, 100) / 10.0});
  }
  return make_mixture(std::move(parts), *rc::gen::inRange<std::uint64_t>(1, 900), 5);
}

}  // namespace headrace
