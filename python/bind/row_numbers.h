// Row numbers from Python: a contiguous array of uint64, or None.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <vector>

namespace headrace::python {

namespace nb = nanobind;

using RowNumbers = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Return a copy; empty for None.
inline std::vector<std::uint64_t> from_row_numbers(const nb::object& rows) {
  if (rows.is_none()) return {};
  const auto given = nb::cast<RowNumbers>(rows);
  return {given.data(), given.data() + given.size()};
}

}  // namespace headrace::python
