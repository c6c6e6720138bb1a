// Dataset::select(): some of the rows, in the order of the files.
#include <fmt/format.h>

#include "dataset/dataset_contents.h"
#include "dataset/refuse.h"

namespace headrace {

Dataset Dataset::select(std::span<const std::uint64_t> rows) const {
  const Source& old = impl_->rows_for("a selection");
  if (old.mixture)
    throw refuse("rows of a mixture cannot be selected: they are drawn by weight", "Select from its parts, then mix.");
  if (rows.empty()) throw refuse("a selection of no rows", "Select at least one.");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] >= size())
      throw refuse(fmt::format("row {} was selected; there are {}", rows[i], size()), "Rows count from 0.");
    if (i > 0 && rows[i] <= rows[i - 1])
      throw refuse(fmt::format("selected rows must ascend: row {} comes after row {}", rows[i], rows[i - 1]),
                   "Sort them, each once: a selection keeps the order of the files. To repeat rows, or for an order of "
                   "your own, give them to Loader(sampler=).");
  }
  auto source = std::make_shared<Source>(old);
  const std::uint64_t stored = impl_->blocks->num_stored_rows();
  auto here = std::make_shared<const RowSet>(size(), rows);
  if (!source->chosen) {
    source->chosen = here;
  } else {
    std::vector<std::uint64_t> of_files(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) of_files[i] = (*source->chosen)[rows[i]];
    source->chosen = std::make_shared<const RowSet>(stored, of_files);
  }
  return Dataset(Impl::make(std::move(source), impl_->node_with(RowsNode{std::move(here)})));
}

std::vector<std::uint64_t> Dataset::selected_rows() const {
  std::vector<std::uint64_t> rows(size());
  const RowSet* const chosen = impl_->source.rows() ? impl_->source.rows()->chosen.get() : nullptr;
  for (std::uint64_t i = 0; i < rows.size(); ++i) rows[i] = chosen ? (*chosen)[i] : i;
  return rows;
}

}  // namespace headrace
