// The module headrace._headrace: the C++ API as the thin Python in python/headrace/ needs it. Not public by itself.
#include "bind/register.h"

NB_MODULE(_headrace, m) {
  namespace nb = nanobind;
  // An object alive at interpreter exit is the user's global variable, nothing to write to stderr about.
  nb::set_leak_warnings(false);
  m.doc() = "The engine of Headrace. Use the package headrace; names in this module may change.";
  m.attr("VERSION") = HEADRACE_VERSION;
  headrace::python::register_error(m);
  headrace::python::register_base(m);
  headrace::python::register_delivery(m);
  headrace::python::register_dataset(m);
  headrace::python::register_volumes(m);
  headrace::python::register_tokens(m);
  headrace::python::register_tokenizer(m);
  headrace::python::register_corpus(m);
  headrace::python::register_report(m);
  headrace::python::register_loader(m);
  headrace::python::register_tools(m);
  headrace::python::register_groups(m);
}
