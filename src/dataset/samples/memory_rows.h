// Rows of a data set in memory, in another order: what is looked up for each sample while batches are made.
#pragma once

#include <headrace/dataset.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "assembly/source.h"

namespace headrace {

/// Read the rows `rows` of a data set of stored rows, in that order, into memory: a source of one file, which has the
/// name and version of the data set's first.
/// \param go_on  May be empty; false ends with kCancelled. Errors: kOutOfBudget; those of reading.
std::shared_ptr<const Source> rows_in_memory(const Dataset& data, std::span<const std::uint64_t> rows,
                                             const std::function<bool()>& go_on);

}  // namespace headrace
