// How often a block is decoded when the window is shorter than the order's span: counted on the plan itself.
#pragma once

#include "loader/plan/engine_plan.h"

namespace headrace {

/// Return the decodes of a block, on average over the blocks that the first steps of an epoch finish with: the window's
/// rule (assembly/window/request_window.h) on the order's own steps, of which at most 2^21 samples are looked at (10 to
/// 30 ms). EnginePlan::expected_decodes(), an upper bound of it, where the order has no locality or does not say.
double window_decodes(const EnginePlan& plan);

}  // namespace headrace
