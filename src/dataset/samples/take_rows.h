// Dataset::take() for samples that are rows.
#pragma once

#include <headrace/batch.h>

#include <functional>
#include <span>

#include "assembly/copying/finisher.h"
#include "base/result.h"
#include "dataset/dataset_contents.h"

namespace headrace {

/// Read rows in the order they are listed, each block decoded once, with several threads where that is worth it.
/// \param rows  Of the data set, below its size. \param draws  Whose randomness transforms use. \param
/// most_threads  That memory allows; at least 1. \param go_on  May be empty; asked all the while: false ends it.
/// Errors: of the data, that of the first block that fails; kCancelled; kOutOfBudget.
Result<Batch> take_rows(Dataset::Impl& data, std::span<const std::uint64_t> rows, EpochSeed draws,
                        std::uint64_t most_threads, const std::function<bool()>& go_on);

}  // namespace headrace
