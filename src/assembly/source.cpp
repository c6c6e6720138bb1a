#include "assembly/source.h"

#include <algorithm>

#include "format/outside_files.h"

namespace headrace {

std::vector<OutsideFile> other_files(const SourceFile& file) {
  OutsideFiles others;
  for (const auto& array : file.arrays)
    for (OutsideFile& other : array->other_files()) others.add(std::move(other));
  return std::move(others).take();
}

bool is_decoded(const Source& source) {
  const auto decoded = [](const std::shared_ptr<ArrayReader>& array) { return is_decoded(array->info()); };
  return std::ranges::any_of(source.files,
                             [&](const SourceFile& file) { return std::ranges::any_of(file.arrays, decoded); });
}

std::vector<Field> Source::slot_fields() const {
  std::vector<Field> all = *fields;
  if (program) all.insert(all.end(), program->staged_fields().begin(), program->staged_fields().end());
  return all;
}

std::uint64_t Source::slot_row_bytes() const {
  std::uint64_t n = 0;
  for (const Field& field : slot_fields()) n += field.row_bytes();
  return n;
}

std::shared_ptr<const Source> as_stored(std::shared_ptr<const Source> source) {
  if (!source->program && !source->finisher) return source;
  auto stored = std::make_shared<Source>(*source);
  stored->finisher.reset();
  if (!stored->program) return stored;
  stored->program.reset();
  stored->set_columns(*source->columns);
  return stored;
}

}  // namespace headrace
