#include "dataset/samples/map_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "assembly/copying/transform_finisher.h"
#include "dataset/files/companion_files.h"
#include "transform/registry.h"

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

/// The columns of samples that are made of rows, group by group.
std::vector<Program::Column> columns_of_groups(const MappedSource& mapped) {
  std::vector<Program::Column> columns;
  const auto add = [&](const Source& source, bool is_ragged, bool is_cut) {
    for (std::size_t c = 0; c < source.columns->size(); ++c) {
      const auto in_parts = [&](const SourceFile& file) {
        return file.arrays[source.places[c].array]->pieces_across() > 1;
      };
      Program::Column column{(*source.columns)[c], is_cut || std::ranges::any_of(source.files, in_parts), is_ragged};
      // A sample of one shape is all of its rows.
      if (!is_ragged) column.stored.shape = (*mapped.fields)[columns.size()].dims.row_shape();
      columns.push_back(std::move(column));
    }
  };
  if (mapped.boxes) {  // the groups are views of one source
    add(*mapped.made_of(), false, true);
    return columns;
  }
  for (std::size_t g = 0; g < mapped.groups.size(); ++g) {
    const bool is_ragged = mapped.map->groups()[g].rows == UnitGroup::Rows::kRagged;
    add(*mapped.groups[g].source, is_ragged, !is_ragged);  // rows of one sample come from several units
  }
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

/// Which voxels there are is told as they are stored.
Status check_valid_lies_still(const MappedSource& mapped, const std::vector<Transform>& transforms) {
  const auto move =
      std::ranges::find_if(transforms, [](const Transform& transform) { return !keeps_places(transform.name); });
  if (!mapped.delivers_valid || move == transforms.end()) return {};
  return Error(ErrorCode::kUnsupported,
               fmt::format("{}: patches with edge=\"fill\" come with 'NAME.valid', which would not be moved "
                           "with them",
                           move->name))
      .with_hint(
          "Do it to patches that lie in their volume: drawn ones (samples_per_epoch=), or those of "
          "edge=\"shift\" or \"drop\".");
}

}  // namespace

std::shared_ptr<Source> with_columns(const Source& source, const std::vector<std::size_t>& columns) {
  auto made = std::make_shared<Source>();
  std::vector<StoredColumn> kept;
  std::vector<std::size_t> arrays;
  for (const std::size_t column : columns) {
    const Source::ColumnPlace place = source.places[column];
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
  HEADRACE_TRY(check_valid_lies_still(mapped, transforms));
  const Source& rows = *mapped.made_of();
  const Program* const before = mapped.program.get();
  const std::vector<Program::Column> base = before ? before->columns() : columns_of_groups(mapped);
  HEADRACE_ASSIGN(std::shared_ptr<const Program> program, compile(base, before, transforms));
  std::vector<std::size_t> of_rows, of_side;
  const bool sided = !mapped.boxes && mapped.groups.size() > 1;
  const std::size_t side_begin = rows.columns->size();
  for (const std::size_t column : columns_of(*program, before))
    if (sided && column >= side_begin)
      of_side.push_back(column - side_begin);
    else
      of_rows.push_back(column);
  if (of_rows.empty()) return MappedSamples{nullptr, nullptr, std::move(of_side), std::move(program)};
  return MappedSamples{with_columns(rows, of_rows),
                       of_side.empty() ? nullptr : with_columns(*mapped.groups[1].source, of_side),
                       {},
                       std::move(program)};
}

}  // namespace headrace
