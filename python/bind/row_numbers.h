// Row numbers from Python: a contiguous array of uint64, or None; and such rows with the sizes of their batches.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <vector>

namespace headrace::python {

namespace nb = nanobind;

using RowNumbers = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Return a copy, so that what is checked later is what is read after that: NumPy writes into large arrays without the
/// GIL. Empty for None. Functions that take RowNumbers themselves rely on Python's row_numbers(), which copies them.
inline std::vector<std::uint64_t> from_row_numbers(const nb::object& rows) {
  if (rows.is_none()) return {};
  const auto given = nb::cast<RowNumbers>(rows);
  return {given.data(), given.data() + given.size()};
}

/// The rows of an epoch, and the samples of each of its batches; the latter empty where batches are not listed.
struct ListedNumbers {
  std::vector<std::uint64_t> rows, batch_rows;
};

/// Return copies of a pair (row numbers, sizes or None); empty for None.
inline ListedNumbers from_listed(const nb::object& listed) {
  if (listed.is_none()) return {};
  const auto pair = nb::cast<nb::tuple>(listed);
  return {from_row_numbers(pair[0]), from_row_numbers(pair[1])};
}

}  // namespace headrace::python
