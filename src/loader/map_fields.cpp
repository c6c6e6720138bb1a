#include "loader/map_fields.h"

#include <algorithm>

#include "assembly/transform_finisher.h"
#include "loader/beside_files.h"

namespace headrace {
namespace {

/// For each column, whether some file stores its rows in several pieces.
std::vector<char> cut_columns(const Source& source) {
  std::vector<char> cut;
  for (const Source::Place& place : source.places)
    cut.push_back(std::ranges::any_of(
        source.files, [&](const SourceFile& file) { return file.arrays[place.array]->pieces_across() > 1; }));
  return cut;
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

Result<std::shared_ptr<const Source>> map_fields(const Source& source, const std::vector<Transform>& transforms,
                                                 const std::optional<std::vector<std::string>>& wanted) {
  if (source.mapping || (source.finisher && !source.program))
    return Error(ErrorCode::kUnsupported, "transforms of samples that are not simply rows are not there yet");
  std::vector<Transform> all;
  if (source.program) all = source.program->transforms();
  all.insert(all.end(), transforms.begin(), transforms.end());
  const std::vector<char> cut = cut_columns(source);
  HEADRACE_ASSIGN(std::shared_ptr<const Program> program, Program::make(*source.columns, cut, all, wanted));
  std::shared_ptr<Source> made = with_columns(source, program->needed());
  if (made->columns->size() < source.columns->size()) {  // its numbers are those of the columns that are left
    const std::vector<char> left = cut_columns(*made);
    std::vector<std::string> names;
    for (const Field& field : program->fields()) names.push_back(field.name);
    HEADRACE_ASSIGN(program, Program::make(*made->columns, left, all, names));
  }
  made->left_out = source.left_out;
  made->fields = std::make_shared<const std::vector<Field>>(program->fields());
  made->finisher = make_transform_finisher(program);
  made->program = std::move(program);
  return std::shared_ptr<const Source>(std::move(made));
}

}  // namespace headrace
