// A selection from a data set, given as a set of its samples.
#pragma once

#include <headrace/dataset/dataset.h>

#include <memory>

#include "catalog/row_set.h"

namespace headrace {

/// Return a data set of some samples of `data`. \param here  Of those that `data` has, at least one. No I/O.
Dataset select_set(const Dataset& data, std::shared_ptr<const RowSet> here);

}  // namespace headrace
