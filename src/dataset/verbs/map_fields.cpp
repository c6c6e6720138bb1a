#include "dataset/verbs/map_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "assembly/transform_finisher.h"
#include "dataset/companion_files.h"

namespace headrace {
namespace {

/// What transforms may work on: of a data set that has some, what it was made of.
std::vector<Program::Column> base_columns(const Source& source) {
  if (source.program) return source.program->columns();
  std::vector<Program::Column> columns;
  for (std::size_t c = 0; c < source.columns->size(); ++c)
    columns.push_back({(*source.columns)[c], std::ranges::any_of(source.files, [&](const SourceFile& file) {
                         return file.arrays[source.places[c].array]->pieces_across() > 1;
                       })});
  return columns;
}

/// Compile transforms behind those of `before`; null: there are none.
Result<std::shared_ptr<const Program>> compile(std::vector<Program::Column> base, const Program* before,
                                               const std::vector<Transform>& transforms) {
  std::vector<Transform> all;
  if (before) all = before->transforms();
  all.insert(all.end(), transforms.begin(), transforms.end());
  return Program::make(std::move(base), std::move(all));
}

/// The columns that a program needs, by number; of a source with those that `before` needed.
std::vector<std::size_t> columns_of(const Program& program, const Program* before) {
  std::vector<std::size_t> columns = program.needed();
  if (before)
    for (std::size_t& column : columns)
      column = static_cast<std::size_t>(std::ranges::find(before->needed(), column) - before->needed().begin());
  return columns;
}

}  // namespace

std::shared_ptr<Source> with_columns(const Source& source, const std::vector<std::size_t>& columns) {
  auto made = std::make_shared<Source>();
  std::vector<StoredColumn> kept;
  std::vector<std::size_t> arrays;
  for (const std::size_t column : columns) {
    const Source::Place place = source.places[column];
    auto known = std::ranges::find(arrays, place.array);
    if (known == arrays.end()) known = arrays.insert(known, place.array);
    kept.push_back((*source.columns)[column]);
    made->places.push_back({static_cast<std::uint32_t>(known - arrays.begin()), place.column});
  }
  made->set_columns(std::move(kept));
  made->chosen = source.chosen;
  made->mixture = source.mixture;
  for (const SourceFile& file : source.files) made->files.push_back(with_arrays(file, arrays));
  return made;
}

Result<std::shared_ptr<const Source>> map_fields(const Source& source, const std::vector<Transform>& transforms) {
  if (source.finisher && !source.program)
    return Error(ErrorCode::kUnsupported, "transforms of samples that are finished as batches are not there yet");
  HEADRACE_ASSIGN(std::shared_ptr<const Program> program,
                  compile(base_columns(source), source.program.get(), transforms));
  std::shared_ptr<Source> made = with_columns(source, columns_of(*program, source.program.get()));
  made->left_out = source.left_out;
  made->notes = source.notes;
  made->fields = std::make_shared<const std::vector<Field>>(program->fields());
  made->finisher = make_transform_finisher(program);
  made->program = std::move(program);
  return std::shared_ptr<const Source>(std::move(made));
}

Result<MappedSamples> map_samples(const MappedSource& mapped, const std::vector<Transform>& transforms) {
  const bool one_shape =
      mapped.boxes || (mapped.groups.size() == 1 && mapped.map->groups()[0].rows == UnitGroup::Rows::kFixed);
  if (!one_shape)
    return std::move(Error(ErrorCode::kUnsupported, fmt::format("a transform of {} is not there yet", mapped.what))
                         .with_hint("A Python function gets whole batches, ragged fields as values and offsets: "
                                    "ds.map(function)."));
  const Source& rows = *mapped.made_of();
  const Program* const before = mapped.program.get();
  std::vector<Program::Column> base;
  if (before) base = before->columns();
  for (std::size_t c = 0; !before && c < rows.columns->size(); ++c) {
    base.push_back({(*rows.columns)[c], true});  // a sample's rows come in the pieces of several units
    base.back().stored.shape = (*mapped.fields)[c].dims.row_shape();
  }
  HEADRACE_ASSIGN(std::shared_ptr<const Program> program, compile(std::move(base), before, transforms));
  return MappedSamples{with_columns(rows, columns_of(*program, before)), std::move(program)};
}

}  // namespace headrace
