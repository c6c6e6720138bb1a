#include "dataset/samples/rows_of_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "dataset/dataset_contents.h"
#include "dataset/recipe/refuse.h"

namespace headrace {
namespace {

using Runs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // first row and end of each

/// In ascending order, apart.
Runs merged(Runs runs) {
  std::ranges::sort(runs);
  Runs apart;
  for (const auto& [first, end] : runs) {
    if (first == end) continue;
    if (!apart.empty() && first <= apart.back().second)
      apart.back().second = std::max(apart.back().second, end);
    else
      apart.emplace_back(first, end);
  }
  return apart;
}

bool has_column(const SourceGroup& group, const std::string& name) {
  const std::vector<StoredColumn>& columns = *group.source->columns;
  return std::ranges::find(columns, name, &StoredColumn::name) != columns.end();
}

}  // namespace

Dataset rows_of_samples(const Dataset& data, const std::string& field) {
  const Dataset::Impl& impl = *impl_of(data);
  const MappedSource* const mapped = impl.source.mapped();
  if (!mapped) return data;
  if (mapped->boxes) (void)impl.rows_for("stats");     // throws
  (void)data.choose(std::vector<std::string>{field});  // throws where there is none
  const bool is_beside = mapped->groups.size() > 1 && has_column(mapped->groups[1], field);
  const SourceGroup& group = mapped->groups[is_beside ? 1 : 0];
  const BlockTable& samples = *mapped->map->shuffle_blocks();
  Runs runs;
  for (std::uint64_t i = 0; i < data.size(); ++i) {
    const BlockTable::RowPlace at = samples.find(i);
    const SampleRef sample{static_cast<std::uint32_t>(at.block), at.row_in_block};
    if (is_beside) {
      const std::uint64_t row = mapped->maker->side_row(samples.stored_number(sample.block, sample.row));
      runs.emplace_back(row, row + 1);
      continue;
    }
    const std::optional<RowRange> rows = mapped->map->rows_of(sample);
    if (!rows) (void)impl.rows_for("stats");  // throws
    runs.emplace_back(rows->first, rows->end());
  }
  runs = merged(std::move(runs));
  auto source = std::make_shared<Source>(*group.source);
  const std::uint64_t whole = group.layout.table->num_rows();
  const bool are_all = runs.size() == 1 && runs[0] == std::pair<std::uint64_t, std::uint64_t>{0, whole};
  if (!are_all) source->chosen = std::make_shared<const RowSet>(whole, std::span(std::as_const(runs)));
  return Dataset(Dataset::Impl::make(std::shared_ptr<const Source>(std::move(source))));
}

}  // namespace headrace
