// A column read whole, a run of blocks after the other: for labels and for groups.
#pragma once

#include <headrace/dataset.h>

#include <functional>
#include <string>

namespace headrace {

/// Return the data set with one field alone, as it is stored: nothing is done with its samples. Throws: kFieldMissing.
Dataset stored_column(const Dataset& data, const std::string& field);

/// Call `visit` with the rows of the column of a data set of one field, from the first to the last.
/// \param go_on  May be empty; false ends with kCancelled.
void read_runs(const Dataset& column, const std::function<bool()>& go_on,
               const std::function<void(const Tensor&)>& visit);

}  // namespace headrace
