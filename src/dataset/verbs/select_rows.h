// A selection from a data set, given as a set of its samples.
#pragma once

#include <headrace/dataset.h>

#include <memory>

#include "catalog/row_set.h"
#include "dataset/recipe/data_tree.h"

namespace headrace {

/// Return a data set of some samples of `data`. \param here  Of those that `data` has, at least one. \param node  How
/// it was made; null: in memory. No I/O.
Dataset select_set(const Dataset& data, std::shared_ptr<const RowSet> here, DataTree node);
/// Throws where samples of `data` have no numbers, or come by weight.
void check_selectable(const Dataset& data);

}  // namespace headrace
