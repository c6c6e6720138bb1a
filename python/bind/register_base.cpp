#include <headrace/base/bytes.h>
#include <headrace/loader/loader.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "bind/register.h"
#include "bind/without_gil.h"
#include "loader/rank.h"

namespace headrace::python {

void register_base(nb::module_& m) {
  m.def("parse_bytes", &parse_bytes, nb::arg("text"),
        "Return the bytes that a text means, such as \"8GiB\", \"8G\" or \"8GB\".");
  m.def("format_bytes", &format_bytes, nb::arg("size"), "Return a size as text: \"1.50 GiB\".");
  m.def("launcher_rank", &launcher_rank, "Return the rank that the launcher's environment gives; None without one.",
        nb::sig("def launcher_rank() -> int | None"));
  m.def(
      "set_memory", [](std::uint64_t size) { return without_gil([&] { return set_memory(size); }); }, nb::arg("size"),
      "Set the limit of the whole process, in bytes.");
}

}  // namespace headrace::python
