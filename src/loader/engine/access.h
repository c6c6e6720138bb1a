// What the tools may see of a data set and a loader beyond their public faces, so that they need not know what is
// behind them.
#pragma once

#include <headrace/loader.h>

#include <memory>

#include "assembly/sample_source.h"
#include "loader/engine/engine.h"
#include "loader/engine/small_budget.h"

namespace headrace {

/// Return the arrays and fields behind a data set; valid as long as the data set is.
const SampleSource& source_of(const Dataset& dataset);

/// Return the engine that a loader has now. The loader may replace it; the caller's stays valid. Threads: any.
std::shared_ptr<Engine> engine_of(const Loader& loader);

/// Return the label that the loader's sampler needs; null: it needs none. Valid as long as the loader is.
const Label* label_of(const Loader& loader);

/// Return what would decode every block once; nullopt: the loader's plan does.
std::optional<SmallBudget> small_budget_of(const Loader& loader);

}  // namespace headrace
