// What each register_<layer>.cpp adds to the Python module, called in this order by module.cpp.
#pragma once

#include <nanobind/nanobind.h>

namespace headrace::python {

namespace nb = nanobind;

/// Let headrace::Error become headrace.errors.Error.
void register_error(nb::module_& m);
/// Add sizes as text and the process's memory limit.
void register_base(nb::module_& m);
/// Add memory of a batch as seen through Python's buffer protocol.
void register_delivery(nb::module_& m);
void register_dataset(nb::module_& m);
void register_volumes(nb::module_& m);
void register_tokens(nb::module_& m);
void register_tokenizer(nb::module_& m);
void register_corpus(nb::module_& m);
void register_report(nb::module_& m);
void register_loader(nb::module_& m);
void register_tools(nb::module_& m);
/// Add totals of groups of rows.
void register_groups(nb::module_& m);

}  // namespace headrace::python
