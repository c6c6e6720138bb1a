#include "dataset/verbs/select_rows.h"

#include <fmt/format.h>

#include "dataset/dataset_contents.h"
#include "dataset/recipe/refuse.h"
#include "dataset/recipe/verb_options.h"
#include "dataset/samples/mapped_samples.h"

namespace headrace {

Dataset select_set(const Dataset& data, std::shared_ptr<const RowSet> here, DataTree node) {
  const Dataset::Impl& impl = *impl_of(data);
  std::shared_ptr<const RowSet> chosen = here;
  if (const RowSet* const before = impl.blocks->chosen().get()) {
    std::vector<std::uint64_t> of_files(here->size());
    for (std::uint64_t i = 0; i < of_files.size(); ++i) of_files[i] = (*before)[(*here)[i]];
    chosen = std::make_shared<const RowSet>(impl.blocks->num_stored_rows(), of_files);
  }
  if (const MappedSource* const mapped = impl.source.mapped())
    return Dataset(
        make_samples(mapped->maker, mapped->made_of(), std::move(chosen), std::move(node), nullptr, mapped->program));
  auto source = std::make_shared<Source>(*impl.source.rows());
  source->chosen = std::move(chosen);
  return Dataset(Dataset::Impl::make(std::move(source), std::move(node)));
}

void check_selectable(const Dataset& data) {
  remade(*impl_of(data), "a selection");
  refuse_drawn(*impl_of(data), "a selection");
  if (impl_of(data)->source.mixture())
    throw refuse("rows of a mixture cannot be selected: they are drawn by weight", "Select from its parts, then mix.");
}

Dataset Dataset::select(std::span<const std::uint64_t> rows) const {
  check_selectable(*this);
  if (rows.empty()) throw refuse("a selection of no rows", "Select at least one.");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] >= size())
      throw refuse(fmt::format("row {} was selected; there are {}", rows[i], size()), "Rows count from 0.");
    if (i > 0 && rows[i] <= rows[i - 1])
      throw refuse(fmt::format("selected rows must ascend: row {} comes after row {}", rows[i], rows[i - 1]),
                   "Sort them, each once: a selection keeps the order of the files. To repeat rows, or for an order of "
                   "your own, give them to Loader(sampler=).");
  }
  auto set = std::make_shared<const RowSet>(size(), rows);
  DataTree node = impl_->node_with(SelectNode{set});
  return select_set(*this, std::move(set), std::move(node));
}

std::vector<std::uint64_t> Dataset::selected_rows() const {
  std::vector<std::uint64_t> rows(size());
  const RowSet* const chosen = impl_->blocks->chosen().get();
  const MappedSource* const mapped = impl_->source.mapped();
  for (std::uint64_t i = 0; i < rows.size(); ++i) {
    rows[i] = chosen ? (*chosen)[i] : i;
    if (mapped && mapped->maker) rows[i] = mapped->maker->sample_number(rows[i]);
  }
  return rows;
}

}  // namespace headrace
