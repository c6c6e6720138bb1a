// Which options of a loader contradict each other: each rule, and its text, once for C++, Python, run files and the
// command line.
#pragma once

#include <headrace/loader/loader.h>

#include "assembly/sample_source.h"
#include "base/result.h"

namespace headrace {

/// Check options against each other, before any data set is known. Errors: kInvalidArgument, with what to do.
Status check_options(const LoaderOptions& options);

/// Check options against samples that are made of rows. Errors: kUnsupported, which names the option and the samples.
Status check_samples(const SampleSource& source, const LoaderOptions& options);

}  // namespace headrace
