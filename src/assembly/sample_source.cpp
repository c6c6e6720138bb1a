#include "assembly/sample_source.h"

#include <algorithm>

namespace headrace {

const std::shared_ptr<const Source>& SampleSource::shared_rows() const {
  static const std::shared_ptr<const Source> none;
  const auto* const rows = std::get_if<std::shared_ptr<const Source>>(&kind_);
  return rows ? *rows : none;
}

const MappedSource* SampleSource::mapped() const {
  const auto* const mapped = std::get_if<std::shared_ptr<const MappedSource>>(&kind_);
  return mapped ? mapped->get() : nullptr;
}

const std::shared_ptr<const std::vector<Field>>& SampleSource::fields() const {
  return std::visit(
      [](const auto& source) -> const auto& { return source->fields; }, kind_);
}

const Finisher* SampleSource::finisher() const {
  return std::visit([](const auto& source) { return source->finisher.get(); }, kind_);
}

std::uint64_t SampleSource::sample_bytes() const {
  if (const Source* const source = rows()) return source->row_bytes();
  return std::max<std::uint64_t>(mapped()->stored_sample_bytes, 1);
}

std::uint64_t SampleSource::slot_sample_bytes() const {
  if (rows()) return rows()->slot_row_bytes();
  return std::max<std::uint64_t>(static_cast<std::uint64_t>(mapped()->sizes.mean_bytes), 1);
}

std::vector<const Source*> SampleSource::stored() const {
  if (rows()) return {rows()};
  std::vector<const Source*> sources;
  for (const SourceGroup& group : mapped()->groups) sources.push_back(group.source.get());
  return sources;
}

ColumnPlace SampleSource::column_of(std::size_t field) const {
  if (const Program* const program = this->program()) {
    const std::optional<std::size_t> column = program->origin(field);
    if (!column) return {};
    field = *column;
  }
  if (rows()) return {rows(), rows()->places[field]};
  for (const SourceGroup& group : mapped()->groups) {
    if (field < group.source->places.size()) return {group.source.get(), group.source->places[field]};
    field -= group.source->places.size();
  }
  return {};
}

std::shared_ptr<const BlockTable> SampleSource::blocks(const BlockLayout& layout) const {
  return rows() ? layout.table : mapped()->map->shuffle_blocks();
}

BlockLayout plan_layout(const SampleSource& source, std::uint64_t resident_limit_bytes) {
  return source.rows() ? plan_layout(*source.rows(), resident_limit_bytes) : BlockLayout{};
}

}  // namespace headrace
