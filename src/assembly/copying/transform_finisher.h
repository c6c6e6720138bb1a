// The part of a data set's transforms that needs whole samples, or the whole batch, in their places.
#pragma once

#include <memory>

#include "assembly/copying/finisher.h"
#include "transform/program.h"

namespace headrace {

/// Return what finishes batches of this program; null where all of it is done while rows are copied.
/// \param sample_rows  Rows of ragged fields that a sample has, on average.
std::shared_ptr<const Finisher> make_transform_finisher(std::shared_ptr<const Program> program, double sample_rows = 1);

}  // namespace headrace
