#include "dataset/samples/column_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "dataset/dataset_contents.h"
#include "dataset/recipe/refuse.h"

namespace headrace {

Dataset stored_column(const Dataset& data, const std::string& field) {
  const std::vector<std::string> names{field};
  const MappedSource* const mapped = impl_of(data)->source.mapped();
  const bool is_beside = mapped && mapped->groups.size() > 1 &&
                         std::ranges::find(*mapped->groups[1].source->fields, field, &Field::name) !=
                             mapped->groups[1].source->fields->end();
  if (is_beside) return data.choose(names);  // a table with a row for each sample, which is not transformed
  if (mapped) {
    (void)data.choose(names);  // throws where there is none
    throw refuse(
        fmt::format("a label is one number for each sample, and {} have several rows of {}", mapped->what, field),
        "Name a field that has one, such as a target of events (targets=). Samples without one can be drawn with "
        "weights that you give: sampler=hr.Weighted(weights).")
        .with_field(field);
  }
  const std::shared_ptr<const Source>& source = impl_of(data)->source.shared_rows();
  const std::shared_ptr<const Source> stored = as_stored(source);
  return (stored == source ? data : Dataset(Dataset::Impl::make(stored))).choose(names);
}

void read_runs(const Dataset& column, const std::function<bool()>& go_on,
               const std::function<void(const Tensor&)>& visit) {
  constexpr std::uint64_t kRunRows = 1 << 20, kRunBytes = 4 << 20;
  const std::uint64_t rows =
      std::clamp<std::uint64_t>(kRunBytes / std::max<std::uint64_t>(column.sample_bytes(), 1), 1, kRunRows);
  for (std::uint64_t first = 0; first < column.size();) {
    const std::uint64_t end = column.block_end(std::min(first + rows, column.size()) - 1);
    const Batch batch = column.slice(first, end - first, go_on);
    if (go_on && !go_on()) throw Error(ErrorCode::kCancelled, "stopped before the whole column was read");
    visit(batch.array(0));
    first = end;
  }
}

}  // namespace headrace
