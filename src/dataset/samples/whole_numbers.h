// Whole numbers of any type, out of arrays that were read.
#pragma once

#include <headrace/batch.h>

#include <cstdint>
#include <vector>

namespace headrace {

/// Return the values of an array of whole numbers. Those of 2^63 and more come out negative.
std::vector<std::int64_t> whole_numbers(const Tensor& array);

}  // namespace headrace
