#include "assembly/window/step_parts.h"

#include <algorithm>

namespace headrace {

void plan_parts(const SampleMap& map, EpochSeed draws, bool checked, bool padded, StepContent& content) {
  StepContent& c = content;
  const std::span<const UnitGroup> groups = map.groups();
  c.parts.clear();
  c.part_ends.clear();
  map.expand(c.samples, draws, c.parts, c.part_ends);
  c.sums = {};
  if (!map.draws_samples())
    for (const SampleRef s : c.samples) c.sums.add(map.shuffle_blocks()->stored_number(s.block, s.row));
  c.starts.resize(groups.size());
  c.lengths.resize(padded ? groups.size() : 0);
  c.sizes.samples = c.samples.size();
  c.sizes.group_rows.resize(groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::vector<std::uint64_t>& starts = c.starts[g];
    starts.assign(1, 0);
    if (groups[g].rows == UnitGroup::Rows::kFixed) {
      for (std::size_t i = 1; i <= c.samples.size(); ++i) starts.push_back(i * groups[g].rows_per_sample);
    } else if (padded) {
      c.lengths[g].clear();
      map.lengths(c.samples, g, c.lengths[g]);
      const std::uint64_t width = c.samples.empty() ? 0 : *std::ranges::max_element(c.lengths[g]);
      for (std::size_t i = 1; i <= c.samples.size(); ++i) starts.push_back(i * width);
    } else {
      map.lengths(c.samples, g, starts);
      for (std::size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
    }
    c.sizes.group_rows[g] = starts.back();
  }
  if (!checked) return;
  const std::uint64_t first_place = first_place_of(c.step);
  std::uint32_t part = 0;
  for (std::size_t i = 0; i < c.samples.size(); ++i)
    for (; part < c.part_ends[i]; ++part) {
      const std::uint32_t group = map.group_of(c.parts[part].unit).group;
      c.expected += map.part_hash(c.samples[i], c.parts[part], first_place + c.starts[group][i]);
    }
}

}  // namespace headrace
