#include "dataset/verbs/map_fields.h"

#include <algorithm>

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
  std::vector<Transform> all;
  if (source.program) all = source.program->transforms();
  all.insert(all.end(), transforms.begin(), transforms.end());
  HEADRACE_ASSIGN(std::shared_ptr<const Program> program, Program::make(base_columns(source), std::move(all)));
  std::vector<std::size_t> columns = program->needed();
  if (source.program)  // which has only those that it needs itself
    for (std::size_t& column : columns)
      column = static_cast<std::size_t>(std::ranges::find(source.program->needed(), column) -
                                        source.program->needed().begin());
  std::shared_ptr<Source> made = with_columns(source, columns);
  made->left_out = source.left_out;
  made->notes = source.notes;
  made->fields = std::make_shared<const std::vector<Field>>(program->fields());
  made->finisher = make_transform_finisher(program);
  made->program = std::move(program);
  return std::shared_ptr<const Source>(std::move(made));
}

}  // namespace headrace
