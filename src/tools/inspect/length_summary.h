// How long samples are, for `inspect --sample-by`: a histogram, the longest, what a batch will need.
#pragma once

#include <headrace/dataset.h>

#include <string>

#include "tools/json.h"

namespace headrace {

struct LengthSummary {
  std::string text;  ///< Lines of a screen.
  Json json;
};

/// Go through the lengths of all samples of a data set that has ragged fields. \param name  What makes the samples.
/// Throws kInvalidArgument where no field is ragged.
LengthSummary summarize_lengths(const Dataset& data, const std::string& name);

}  // namespace headrace
