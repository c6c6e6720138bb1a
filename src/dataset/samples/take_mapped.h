// Dataset::take() for windows, spans, lists and patches.
#pragma once

#include <headrace/batch.h>

#include <functional>
#include <span>

#include "assembly/copying/finisher.h"
#include "assembly/mapped_source.h"
#include "base/result.h"

namespace headrace {

/// Read mapped samples in the order they are listed, each unit decoded once; what was put in place is compared with the
/// plan. \param samples  Below the data set's size. \param draws  Whose randomness transforms use. \param go_on
/// May be empty; asked between units: false ends it. \param padding  Fills up ragged samples to the longest; null: they
/// stay ragged. Errors: of the data, that of the first sample that fails; kCancelled; kOutOfBudget; kInternal.
Result<Batch> take_mapped(const MappedSource& mapped, std::span<const std::uint64_t> samples, EpochSeed draws,
                          const std::function<bool()>& go_on, const Finisher* padding = nullptr);

}  // namespace headrace
