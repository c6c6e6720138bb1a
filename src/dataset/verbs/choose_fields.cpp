// Dataset::choose() and map(): the fields of samples, fewer of them or others made of them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "assembly/copying/transform_finisher.h"
#include "dataset/dataset_contents.h"
#include "dataset/recipe/refuse.h"
#include "dataset/recipe/transform_codec.h"
#include "dataset/recipe/verb_options.h"
#include "dataset/samples/map_fields.h"
#include "dataset/samples/mapped_samples.h"
#include "dataset/verbs/truncate.h"

namespace headrace {
namespace {

std::size_t column_of(const Source& source, const std::string& name) {
  return static_cast<std::size_t>(std::ranges::find(*source.columns, name, &StoredColumn::name) -
                                  source.columns->begin());
}

Error no_such_field(const Dataset::Impl& impl, const Source& old, const std::string& name) {
  std::vector<std::string> have;
  for (const Field& f : *impl.source.fields()) have.push_back(f.name);
  std::string text = fmt::format("no field '{}'; there are {}", name, fmt::join(have, ", "));
  const auto left_out = std::ranges::find(old.left_out, name, &LeftOut::path);
  if (left_out == old.left_out.end()) return {ErrorCode::kFieldMissing, std::move(text)};
  return Error(ErrorCode::kFieldMissing,
               fmt::format("{}. The array '{}' was left out: {}", text, name, left_out->reason))
      .with_hint(fmt::format("open() with fields=[\"{}\"] loads it, or says what to do.", name));
}

/// The table beside the samples' rows alone, with a row for each chosen sample.
std::shared_ptr<const Source> side_alone(const MappedSource& mapped, const std::vector<std::size_t>& columns) {
  const std::shared_ptr<Source> made = with_columns(*mapped.groups[1].source, columns);
  const BlockTable& blocks = *mapped.map->shuffle_blocks();
  std::uint64_t all = 0;
  for (const SourceFile& file : made->files) all += file.rows;
  if (blocks.num_rows() == all) return made;
  std::vector<std::uint64_t> rows(blocks.num_rows());
  for (std::uint64_t i = 0; i < rows.size(); ++i)
    rows[i] = mapped.maker->side_row(blocks.is_chosen() ? (*blocks.chosen())[i] : i);
  made->chosen = std::make_shared<const RowSet>(all, rows);
  return made;
}

/// The same through the program of the samples.
std::shared_ptr<const Source> targets_alone(const MappedSource& mapped, MappedSamples made) {
  auto source = std::make_shared<Source>(*side_alone(mapped, made.side_alone));
  source->fields = std::make_shared<const std::vector<Field>>(made.program->fields());
  source->finisher = make_transform_finisher(made.program);
  source->program = std::move(made.program);
  return source;
}

Dataset transformed(const Dataset::Impl& impl, const std::vector<Transform>& transforms, DataTree node) {
  const MappedSource* const mapped = remade(impl, "a transform");
  if (!mapped)
    return Dataset(Dataset::Impl::make(map_fields(*impl.source.rows(), transforms).value(), std::move(node)));
  MappedSamples made = map_samples(*mapped, transforms).value();
  if (!made.rows) return Dataset(Dataset::Impl::make(targets_alone(*mapped, std::move(made)), std::move(node)));
  const bool sided = !mapped->boxes && mapped->groups.size() > 1;
  return Dataset(make_samples(sided ? mapped->maker->with_side(std::move(made.side)) : mapped->maker,
                              std::move(made.rows), mapped->map->shuffle_blocks()->chosen(), std::move(node),
                              mapped->mixture, std::move(made.program)));
}

}  // namespace

Dataset Dataset::choose(std::span<const std::string> names) const {
  const MappedSource* const mapped = remade(*impl_, "a choice of fields");
  const Source& old = mapped ? *mapped->made_of() : *impl_->source.rows();
  const Source* const side =
      mapped && !mapped->boxes && mapped->groups.size() > 1 ? mapped->groups[1].source.get() : nullptr;
  const std::vector<std::string> list(names.begin(), names.end());
  if (impl_->source.program()) return transformed(*impl_, {{"Keep", list, {}}}, impl_->node_with(ChooseNode{list}));
  if (old.finisher) throw refuse("fields of transformed samples cannot be chosen", "Choose first, then transform.");
  std::vector<std::size_t> columns, of_side;
  for (const std::string& name : names) {
    const std::size_t column = column_of(old, name);
    if (side && column == old.columns->size()) {
      of_side.push_back(column_of(*side, name));
      if (of_side.back() < side->columns->size()) continue;
    }
    if (column == old.columns->size()) throw no_such_field(*impl_, old, name);
    if (!of_side.empty())
      throw refuse(fmt::format("'{}' is named behind a target", name), "Targets come last in a batch: name them last.");
    columns.push_back(column);
  }
  DataTree node = impl_->node_with(ChooseNode{list});
  if (columns.empty() && !of_side.empty()) return Dataset(Impl::make(side_alone(*mapped, of_side), std::move(node)));
  std::shared_ptr<Source> made = with_columns(old, columns);
  if (mapped)
    return Dataset(make_samples(
        side ? mapped->maker->with_side(of_side.empty() ? nullptr : with_columns(*side, of_side)) : mapped->maker,
        std::move(made), mapped->map->shuffle_blocks()->chosen(), std::move(node), mapped->mixture));
  return Dataset(Impl::make(std::move(made), std::move(node)));
}

Dataset Dataset::map(const std::vector<Transform>& transforms) const {
  if (transforms.empty()) return *this;
  const auto cut = std::ranges::find(transforms, kTruncate, &Transform::name);
  if (cut != transforms.end()) return truncate(map({transforms.begin(), cut}), *cut).map({cut + 1, transforms.end()});
  return transformed(*impl_, transforms, impl_->node_with(MapNode{transforms}));
}

}  // namespace headrace
