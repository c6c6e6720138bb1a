#include "loader/options/group_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dataset/facts/sample_groups.h"
#include "dataset/recipe/refuse.h"
#include "dataset/samples/column_runs.h"
#include "dataset/samples/key_runs.h"

namespace headrace {
namespace {

/// The samples of each place along the axes up to `axis`. Places are counted through the files, also those of which no
/// sample was chosen.
GroupTable groups_by_axis(const Dataset& data, const BlockTable& blocks, std::size_t axis) {
  const std::vector<std::uint64_t> places = places_along(data, axis, "group_by=");
  GroupTable table{.by = fmt::format("axis {}", axis), .starts = {}, .numbers = {}, .num_numbers = places.size() - 1};
  if (table.num_numbers > std::numeric_limits<std::uint32_t>::max()) throw refuse("there are more groups than 2^32");
  const RowSet* const chosen = blocks.chosen().get();
  const auto row_of = [&](std::uint64_t stored) { return chosen ? chosen->count_below(stored) : stored; };
  for (std::uint64_t g = 0; g < table.num_numbers; ++g) {
    const std::uint64_t first = row_of(places[g]);
    if (first == row_of(places[g + 1])) continue;
    table.starts.push_back(first);
    table.numbers.push_back(static_cast<std::int64_t>(g));
  }
  table.starts.push_back(blocks.num_rows());
  return table;
}

}  // namespace

std::shared_ptr<const GroupTable> find_groups(const Dataset& data, const BlockTable& blocks, const Groups& choice,
                                              const std::function<bool()>& go_on,
                                              const std::function<void(const std::string&)>& tell) {
  GroupTable files = groups_by_file(blocks);
  if (choice.by == "file") return std::make_shared<const GroupTable>(std::move(files));
  if (const std::optional<std::size_t> axis = axis_of(data, choice.by))
    return std::make_shared<const GroupTable>(groups_by_axis(data, blocks, *axis));
  const Dataset column = stored_column(data, choice.by);
  const Field& field = column.fields()[0];
  const DType::Kind kind = field.dtype.kind;
  const bool whole = kind == DType::Kind::kInt || kind == DType::Kind::kUInt || kind == DType::Kind::kBool;
  if (!whole || !field.dims.row_shape().empty())
    throw refuse(fmt::format("groups are runs of rows with an equal whole number; this is {} of {} dimensions a row",
                             field.dtype.name(), field.dims.row_shape().size()),
                 "Name a field with one whole number a row, or \"file\".")
        .with_field(choice.by);
  std::vector<FileRows> rows;
  for (std::size_t i = 0; i < files.size(); ++i)
    rows.push_back(
        {data.files()[static_cast<std::size_t>(files.numbers[i])].path, files.starts[i + 1] - files.starts[i]});
  KeyRuns runs = find_key_runs(column, rows, {.what = "group", .returning = ReturningKey::kNoticed, .go_on = go_on});
  GroupTable table{.by = choice.by, .starts = std::move(runs.starts), .numbers = {}, .num_numbers = 0};
  for (const std::string& notice : runs.notices) tell(notice);
  table.num_numbers = table.starts.size() - 1;
  if (table.num_numbers > std::numeric_limits<std::uint32_t>::max())
    throw refuse(fmt::format("{} groups are more than 2^32", table.num_numbers)).with_field(choice.by);
  table.numbers.resize(table.num_numbers);
  for (std::uint64_t g = 0; g < table.num_numbers; ++g) table.numbers[g] = static_cast<std::int64_t>(g);
  return std::make_shared<const GroupTable>(std::move(table));
}

}  // namespace headrace
