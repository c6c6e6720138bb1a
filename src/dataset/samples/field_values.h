// Values of any number type as doubles.
#pragma once

#include <headrace/dtype.h>

#include <cstddef>
#include <span>

namespace headrace {

/// Puts as many values as `to` holds there, from bytes of any alignment. 64-bit integers beyond 2^53 are rounded.
using ToDoubles = void (*)(const std::byte* from, std::span<double> to);

/// Return what converts values of a type; null: they are no real numbers.
ToDoubles to_doubles(const DType& dtype);

/// Return what rounds a number to the nearest that a type holds, as NumPy does before it compares; null: nothing does,
/// because integers are compared exactly.
double (*rounding_to(const DType& dtype))(double);

}  // namespace headrace
