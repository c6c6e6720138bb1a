// What a batch of mapped samples is made of: parts, places and sizes, known before a byte is read.
#pragma once

#include "assembly/window/window_slot.h"
#include "catalog/samples/sample_map.h"

namespace headrace {

/// Plan the parts of `content.samples`: parts, part_ends, starts, sizes; and, if `checked`, add what they must hash to
/// in their places to `content.expected`. \param draws  Whose samples they are. \param padded  Give every sample the
/// rows of the longest in ragged groups, and write their own to `content.lengths`.
void plan_parts(const SampleMap& map, EpochSeed draws, bool checked, bool padded, StepContent& content);

}  // namespace headrace
