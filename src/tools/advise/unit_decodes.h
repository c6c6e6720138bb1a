// How often a unit is decoded in an epoch, whatever samples are made of: counted on the plan's own steps.
#pragma once

#include "assembly/sample_source.h"
#include "loader/plan/engine_plan.h"

namespace headrace {

/// Return the decodes of a unit in an epoch, on average by the bytes that are decoded with it: as the window claims
/// units for the plan's first steps, of which at most 2^20 parts are looked at (some 50 ms). Samples that are drawn,
/// anew in each epoch or by weight, need not ask for every unit: below 1 then, where an epoch has few of them. 1 where
/// nothing is decoded together. Of rows, as window_decodes().
double unit_decodes(const SampleSource& source, const EnginePlan& plan);

/// Return the bytes that are decoded together where a unit of a map is: those of arrays in chunks, or of a cell.
std::uint64_t unit_bytes(const MappedSource& mapped, std::uint32_t unit);

}  // namespace headrace
