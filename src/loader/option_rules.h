// Which options of a loader contradict each other: each rule, and its text, once for C++, Python, run files and the
// command line.
#pragma once

#include <headrace/loader/loader.h>

#include "base/result.h"

namespace headrace {

/// Return true if the options name batches of their own, whose sizes batch_size does not say: whole groups, or a list.
bool has_own_batches(const LoaderOptions& options);

/// Check options against each other, before any data set is known. Errors: kInvalidArgument, with what to do.
Status check_options(const LoaderOptions& options);

}  // namespace headrace
