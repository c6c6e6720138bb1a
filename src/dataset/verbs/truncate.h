// Truncate: samples of several rows get no more than so many. Part of Dataset::map().
#pragma once

#include <headrace/dataset.h>

namespace headrace {

/// Return the data set with at most `rows` rows of each sample: the "first", or "random" ones, anew in each epoch.
/// \param transform  Settings: rows, method. Throws kInvalidArgument: wrong settings, samples of one length;
/// kUnsupported: samples that are made of others, or shortened already.
Dataset truncate(const Dataset& data, const Transform& transform);

}  // namespace headrace
