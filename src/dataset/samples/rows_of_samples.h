// The rows that samples are made of.
#pragma once

#include <headrace/dataset.h>

#include <string>

namespace headrace {

/// Return a data set of the rows that the samples of `data` have in the field's files, each once, in the order of the
/// files: of windows, spans and lists their rows, of a field beside them the row of each sample. Goes through all
/// samples. Throws: kFieldMissing; kUnsupported where samples are patches.
Dataset rows_of_samples(const Dataset& data, const std::string& field);

}  // namespace headrace
