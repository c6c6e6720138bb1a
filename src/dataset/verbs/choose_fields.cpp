// Dataset::choose() and map(): the fields of samples, fewer of them or others made of them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "dataset/dataset_contents.h"
#include "dataset/mapped_samples.h"
#include "dataset/refuse.h"
#include "dataset/verbs/map_fields.h"

namespace headrace {
namespace {

Dataset transformed(const Dataset::Impl& impl, const std::vector<Transform>& transforms,
                    std::shared_ptr<const DataNode> node) {
  const MappedSource* const mapped = remade(impl, "a transform");
  if (!mapped)
    return Dataset(Dataset::Impl::make(map_fields(*impl.source.rows(), transforms).value(), std::move(node)));
  MappedSamples made = map_samples(*mapped, transforms).value();
  return Dataset(make_samples(mapped->maker, std::move(made.rows), mapped->map->shuffle_blocks()->chosen(),
                              std::move(node), mapped->mixture, std::move(made.program)));
}

}  // namespace

Dataset Dataset::choose(std::span<const std::string> names) const {
  const MappedSource* const mapped = remade(*impl_, "a choice of fields");
  const Source& old = mapped ? *mapped->groups[0].source : *impl_->source.rows();
  const std::vector<std::string> list(names.begin(), names.end());
  if (impl_->source.program()) return transformed(*impl_, {{"Keep", list, {}}}, impl_->node_with(FieldsNode{list}));
  if (old.finisher) throw refuse("fields of transformed samples cannot be chosen", "Choose first, then transform.");
  std::vector<std::size_t> columns;
  for (const std::string& name : names) {
    const auto it = std::ranges::find(*old.columns, name, &StoredColumn::name);
    if (it == old.columns->end()) {
      std::vector<std::string> have;
      for (const Field& f : *old.fields) have.push_back(f.name);
      const std::string text = fmt::format("no field '{}'; there are {}", name, fmt::join(have, ", "));
      const auto left_out = std::ranges::find(old.left_out, name, &LeftOut::path);
      if (left_out == old.left_out.end()) throw Error(ErrorCode::kFieldMissing, text);
      throw Error(ErrorCode::kFieldMissing,
                  fmt::format("{}. The array '{}' was left out: {}", text, name, left_out->reason))
          .with_hint(fmt::format("open() with fields=[\"{}\"] loads it, or says what to do.", name));
    }
    columns.push_back(static_cast<std::size_t>(it - old.columns->begin()));
  }
  std::shared_ptr<const DataNode> node = impl_->node_with(FieldsNode{list});
  std::shared_ptr<Source> made = with_columns(old, columns);
  if (mapped)
    return Dataset(make_samples(mapped->maker, std::move(made), mapped->map->shuffle_blocks()->chosen(),
                                std::move(node), mapped->mixture));
  return Dataset(Impl::make(std::move(made), std::move(node)));
}

Dataset Dataset::map(const std::vector<Transform>& transforms) const {
  if (transforms.empty()) return *this;
  return transformed(*impl_, transforms, impl_->node_with(MapNode{transforms}));
}

}  // namespace headrace
