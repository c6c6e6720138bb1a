// Dataset::map(), and choosing fields of what it made.
#pragma once

#include <headrace/transform.h>

#include <memory>
#include <vector>

#include "assembly/mapped_source.h"
#include "assembly/source.h"
#include "base/result.h"

namespace headrace {

/// Return the source with these transforms after those that it has, and only the columns that they need. Errors:
/// kInvalidArgument, kFieldMissing.
Result<std::shared_ptr<const Source>> map_fields(const Source& source, const std::vector<Transform>& transforms);

/// The same of samples that are made of rows.
struct MappedSamples {
  std::shared_ptr<const Source> rows;   ///< With the columns that the program needs; null: it needs none of them.
  std::shared_ptr<const Source> side;   ///< The same of the table beside them; null: it needs none of it.
  std::vector<std::size_t> side_alone;  ///< Columns of that table, where the program needs no others.
  std::shared_ptr<const Program> program;
};
/// Compile these transforms behind those that the samples have. Errors: as map_fields(); kUnsupported for transforms of
/// whole samples whose shapes differ.
Result<MappedSamples> map_samples(const MappedSource& mapped, const std::vector<Transform>& transforms);

/// Return the source with only these of its columns, by number. Its fields are those columns.
std::shared_ptr<Source> with_columns(const Source& source, const std::vector<std::size_t>& columns);

}  // namespace headrace
