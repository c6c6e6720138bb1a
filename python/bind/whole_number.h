// Python's int as a WholeNumber.
#pragma once

#include <headrace/whole_number.h>
#include <nanobind/nanobind.h>

#include <cstdint>

namespace headrace::python {

/// Return the number of an int from -2^63 to 2^64 - 1; others are the caller's to refuse.
inline WholeNumber whole_number(const nanobind::handle& value) {
  std::int64_t number = 0;
  if (nanobind::try_cast(value, number)) return number;
  return nanobind::cast<std::uint64_t>(value);
}

}  // namespace headrace::python
