// Totals of groups, in arrays of the caller's.
#include <headrace/group_totals.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <span>
#include <tuple>

#include "bind/register.h"

namespace headrace::python {
namespace {

template <class T, std::size_t kAxes>
using Array = nb::ndarray<T, nb::ndim<kAxes>, nb::c_contig, nb::device::cpu>;
template <class Values>
auto span_of(const Values& array) {
  return std::span(array.data(), array.size());
}
template <class T, std::size_t kAxes>
std::span<T> span_in(const nb::dict& arrays, const char* name) {
  return arrays.contains(name) ? span_of(nb::cast<Array<T, kAxes>>(arrays[name], false)) : std::span<T>();
}

/// (groups, classes, k), and arrays by the names of GroupTotals. Their memory is that of `arrays`.
GroupTotals to_totals(const std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>& numbers, const nb::dict& arrays) {
  return {.groups = std::get<0>(numbers),
          .classes = std::get<1>(numbers),
          .top = std::get<2>(numbers),
          .count = span_in<std::int64_t, 1>(arrays, "count"),
          .nan = span_in<std::int64_t, 1>(arrays, "nan"),
          .votes = span_in<std::int64_t, 2>(arrays, "votes"),
          .sum = span_in<double, 2>(arrays, "sum"),
          .max = span_in<double, 2>(arrays, "max"),
          .tops = span_in<double, 3>(arrays, "tops")};
}

using Numbers = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;

template <class T>
void add(const Array<const std::int64_t, 1>& groups, const Array<const T, 2>& values, const Numbers& numbers,
         const nb::dict& arrays) {
  const GroupTotals totals = to_totals(numbers, arrays);
  const nb::gil_scoped_release nogil;
  add_rows(totals, span_of(groups), span_of(values));
}

}  // namespace

void register_groups(nb::module_& m) {
  m.def("add_rows_float32", &add<float>, nb::arg("groups"), nb::arg("values").noconvert(), nb::arg("numbers"),
        nb::arg("arrays"),
        nb::sig("def add_rows_float32(groups: typing.Any, values: typing.Any, numbers: tuple[int, int, int], "
                "arrays: dict[str, typing.Any]) -> None"));
  m.def("add_rows_float64", &add<double>, nb::arg("groups"), nb::arg("values").noconvert(), nb::arg("numbers"),
        nb::arg("arrays"),
        nb::sig("def add_rows_float64(groups: typing.Any, values: typing.Any, numbers: tuple[int, int, int], "
                "arrays: dict[str, typing.Any]) -> None"));
  m.def(
      "add_votes",
      [](const Array<const std::int64_t, 1>& groups, const Array<const std::int64_t, 1>& labels, const Numbers& numbers,
         const nb::dict& arrays) {
        const GroupTotals totals = to_totals(numbers, arrays);
        const nb::gil_scoped_release nogil;
        add_votes(totals, span_of(groups), span_of(labels));
      },
      nb::arg("groups"), nb::arg("labels"), nb::arg("numbers"), nb::arg("arrays"),
      nb::sig("def add_votes(groups: typing.Any, labels: typing.Any, numbers: tuple[int, int, int], "
              "arrays: dict[str, typing.Any]) -> None"));
}

}  // namespace headrace::python
