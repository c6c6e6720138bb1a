// What this machine does with samples of any kind: a loader of the run itself, for moments, with a short window.
#pragma once

#include <headrace/loader.h>

#include "loader/plan/engine_plan.h"
#include "tools/advise/probe.h"

namespace headrace {

struct DataFacts;

/// Measure serving by 1 and by `threads` threads, reading, and batches that come from memory, for about 1.5 s times
/// `effort`. Rates are those of units that are decoded once an epoch, as in `facts`. Memory: of loaders with windows of
/// 320 MiB at most; where all decoded data fits `plan`'s budget, what some batches need of it is kept for a moment.
/// Errors: errors of the data, if no batch can be had; kOutOfBudget.
Result<Probe> probe_loader(const Dataset& dataset, const LoaderOptions& options, const EnginePlan& plan,
                           const DataFacts& facts, std::uint32_t threads, double effort);

}  // namespace headrace
