// The groups of a data set: its files, runs of rows in which a field is equal, or places along the samples' first axes.
#pragma once

#include <headrace/loader.h>

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "order/grouped.h"

namespace headrace {

/// Return the groups that `choice` names. A field is read whole; a group never reaches over the end of a file.
/// \param blocks  Those of the data set. \param go_on  May be empty; false ends reading with kCancelled.
/// \param tell  Is told of numbers that several groups have.
/// Throws: kFieldMissing; kInvalidArgument: the field is no whole number a sample, or samples have no such axis.
std::shared_ptr<const GroupTable> find_groups(const Dataset& data, const BlockTable& blocks, const Groups& choice,
                                              const std::function<bool()>& go_on,
                                              const std::function<void(const std::string&)>& tell);

}  // namespace headrace
