// Filling ragged samples up to the longest of their batch.
#pragma once

#include <memory>

#include "assembly/copying/finisher.h"
#include "assembly/mapped_source.h"
#include "base/result.h"

namespace headrace {

/// Return what writes `fill` behind the rows of each sample, in all fields of the map's ragged groups, of batches that
/// were planned with room for it (plan_parts), after what the samples' own finisher does. Errors: kInvalidArgument,
/// which names the field: no field is ragged, or the type of one does not have this number.
Result<std::shared_ptr<const Finisher>> make_padding(const MappedSource& mapped, double fill);

}  // namespace headrace
