#include "loader/group_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "dataset/column_runs.h"
#include "dataset/refuse.h"

namespace headrace {
namespace {

/// The rows at which the bytes of a column change.
std::vector<std::uint64_t> changes_of(const Dataset& column, const std::function<bool()>& go_on) {
  const std::size_t width = column.fields()[0].row_bytes();
  std::vector<std::uint64_t> changes;
  std::vector<std::byte> last;
  std::uint64_t row = 0;
  read_runs(column, go_on, [&](const Tensor& run) {
    const std::byte* at = run.data();
    for (std::uint64_t i = 0; i < run.rows(); ++i, ++row, at += width) {
      const std::byte* const before = i > 0 ? at - width : last.empty() ? nullptr : last.data();
      if (!before || std::memcmp(before, at, width) != 0) changes.push_back(row);
    }
    if (run.rows() > 0) last.assign(at - width, at);
  });
  return changes;
}

}  // namespace

std::shared_ptr<const GroupTable> find_groups(const Dataset& data, const BlockTable& blocks, const GroupBy& choice,
                                              const std::function<bool()>& go_on) {
  GroupTable files = groups_by_file(blocks);
  if (choice.by == "file") return std::make_shared<const GroupTable>(std::move(files));
  const Dataset column = stored_column(data, choice.by);
  const Field& field = column.fields()[0];
  const DType::Kind kind = field.dtype.kind;
  const bool whole = kind == DType::Kind::kInt || kind == DType::Kind::kUInt || kind == DType::Kind::kBool;
  if (!whole || !field.dims.row_shape().empty())
    throw refuse(fmt::format("groups are runs of rows with an equal whole number; this is {} of {} dimensions a row",
                             field.dtype.name(), field.dims.row_shape().size()),
                 "Name a field with one whole number a row, or \"file\".")
        .with_field(choice.by);
  const std::vector<std::uint64_t> changes = changes_of(column, go_on);
  GroupTable table{.by = choice.by, .starts = {}, .numbers = {}, .num_numbers = 0};
  std::set_union(changes.begin(), changes.end(), files.starts.begin(), files.starts.end(),
                 std::back_inserter(table.starts));
  table.num_numbers = table.starts.size() - 1;
  if (table.num_numbers > std::numeric_limits<std::uint32_t>::max())
    throw refuse(fmt::format("{} groups are more than 2^32", table.num_numbers)).with_field(choice.by);
  table.numbers.resize(table.num_numbers);
  for (std::uint64_t g = 0; g < table.num_numbers; ++g) table.numbers[g] = static_cast<std::int64_t>(g);
  return std::make_shared<const GroupTable>(std::move(table));
}

}  // namespace headrace
