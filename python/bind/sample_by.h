// What makes a sample, from Python.
#pragma once

#include <headrace/dataset.h>
#include <nanobind/nanobind.h>

#include <cstdint>

#include "bind/row_numbers.h"
#include "bind/text.h"

namespace headrace::python {

/// Return what a tuple says: path of a key and its column, path of offsets, a list of them,
/// and the words of a table of spans, of which one is given.
inline SampleBy to_sample_by(const nb::object& words) {
  const auto given = nb::cast<nb::tuple>(words);
  SampleBy by;
  by.key = from_python(nb::cast<nb::str>(given[0]));
  if (!given[1].is_none()) by.column = nb::cast<std::uint64_t>(given[1]);
  by.offsets = from_python(nb::cast<nb::str>(given[2]));
  by.offset_list = from_row_numbers(given[3]);
  const auto table = nb::cast<nb::tuple>(given[4]);
  std::size_t word = 0;
  for (std::string* const text : {&by.meta, &by.first, &by.last, &by.end, &by.file, &by.file_template})
    *text = from_python(nb::cast<nb::str>(table[word++]));
  return by;
}

}  // namespace headrace::python
