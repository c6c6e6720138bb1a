#include <algorithm>

#include "dataset/dataset_contents.h"
#include "dataset/recipe/refuse.h"

namespace headrace {

std::vector<std::uint64_t> Dataset::lengths() const {
  constexpr std::uint64_t kSamplesAtOnce = 4096;
  const MappedSource* const mapped = impl_->source.mapped();
  const auto is_ragged = [](const UnitGroup& group) { return group.rows == UnitGroup::Rows::kRagged; };
  const auto groups = mapped ? mapped->map->groups() : std::span<const UnitGroup>();
  const auto ragged = std::ranges::find_if(groups, is_ragged);
  if (ragged == groups.end())
    throw refuse("all samples have the same length: no field is ragged", "Dataset::fields() has their shape.");
  const BlockTable& blocks = *mapped->map->shuffle_blocks();
  std::vector<std::uint64_t> lengths;
  lengths.reserve(blocks.num_rows());
  std::vector<SampleRef> samples;
  for (std::uint32_t block = 0; block < blocks.num_blocks(); ++block)
    for (std::uint64_t first = 0; first < blocks.block_rows(block); first += kSamplesAtOnce) {
      samples.clear();
      for (std::uint64_t i = first; i < std::min(first + kSamplesAtOnce, blocks.block_rows(block)); ++i)
        samples.push_back({block, static_cast<std::uint32_t>(i)});
      mapped->map->lengths(samples, static_cast<std::size_t>(ragged - groups.begin()), lengths);
    }
  return lengths;
}

}  // namespace headrace
