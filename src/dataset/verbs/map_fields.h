// Dataset::map(), and choosing fields of what it made.
#pragma once

#include <headrace/transform/transform.h>

#include <memory>
#include <vector>

#include "assembly/source.h"
#include "base/result.h"

namespace headrace {

/// Return the source with these transforms after those that it has, and only the columns that they need. Errors:
/// kInvalidArgument, kFieldMissing; kUnsupported for samples that are not rows.
Result<std::shared_ptr<const Source>> map_fields(const Source& source, const std::vector<Transform>& transforms);

/// Return the source with only these of its columns, by number. Its fields are those columns.
std::shared_ptr<Source> with_columns(const Source& source, const std::vector<std::size_t>& columns);

}  // namespace headrace
