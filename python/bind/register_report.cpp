// Report: plain numbers, read-only, from the lists of its fields.
#include <fmt/format.h>
#include <headrace/report.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "bind/register.h"
#include "bind/text.h"
#include "bind/values.h"
#include "loader/report/report_fields.h"

namespace headrace::python {
namespace {

std::string html_text(const std::string& text) {
  std::string html = "<pre>";
  for (const char c : text) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      default:
        html += c;
    }
  }
  return html + "</pre>";
}

/// Return the sentences of a field.
std::string doc_of(const Member& field) {
  return fmt::format("{}.{}{}", field.doc, field.more.empty() ? "" : " ", field.more);
}

template <class S>
nb::object value_in(const S& self, const Member& field) {
  return object_of(spec<S>().value_of(field, &self));
}

/// Make the class of a struct whose fields are listed, with a property for each that is not an object of its own class.
template <class S>
nb::class_<S> fields_class(nb::handle scope) {
  const Spec& fields = spec<S>();
  nb::class_<S> made(scope, std::string(fields.name()).c_str(), std::string(fields.doc()).c_str());
  for (const Member& field : fields.members())
    if (field.type->python != "Any")
      made.def_prop_ro(
          std::string(field.name).c_str(), [&field](const S& self) { return value_in(self, field); },
          nb::sig(fmt::format("def {}(self) -> {}", field.name, field.type->python).c_str()), doc_of(field).c_str());
  return made;
}

/// Make a class that prints its fields.
template <class S>
void printed_class(nb::handle scope) {
  fields_class<S>(scope).def(
      "__repr__",
      [](const S& self) {
        std::string text;
        for (const Member& field : spec<S>().members())
          text += fmt::format("{}{}={}", text.empty() ? "" : ", ", field.name,
                              nb::cast<std::string>(nb::repr(value_in(self, field))));
        return fmt::format("Report.{}({})", spec<S>().name(), text);
      },
      nb::sig("def __repr__(self) -> str"));
}

/// Add a property whose values are of a class of their own.
template <auto Pointer>
void add_part(nb::class_<Report>& report, const char* name) {
  report.def_ro(name, Pointer, doc_of(*spec<Report>().find(name)).c_str());
}

}  // namespace

void register_report(nb::module_& m) {
  nb::class_<Report> report = fields_class<Report>(m);
  printed_class<Report::Stage>(report);
  fields_class<Report::Memory>(report)
      .def(
          "__str__", [](const Report::Memory& self) { return to_python(self.text()); },
          nb::sig("def __str__(self) -> str"))
      .def(
          "__repr__", [](const Report::Memory& self) { return to_python(self.text()); },
          nb::sig("def __repr__(self) -> str"));
  printed_class<Report::RowSums>(report);
  printed_class<Report::Cache>(report);
  printed_class<Report::Mixing>(report);
  printed_class<Report::DecodeOnce>(report);
  printed_class<Report::Reading>(report);
  fields_class<Report::ToDevice>(report);
  add_part<&Report::stages>(report, "stages");
  add_part<&Report::memory>(report, "memory");
  add_part<&Report::row_sums>(report, "row_sums");
  add_part<&Report::cache>(report, "cache");
  add_part<&Report::mixing>(report, "mixing");
  add_part<&Report::decode_once>(report, "decode_once");
  add_part<&Report::reading>(report, "reading");
  add_part<&Report::to_device>(report, "to_device");
  report.def_prop_ro("samples_per_second", &Report::samples_per_second, "Samples delivered, divided by wall_seconds.")
      .def_prop_ro("bytes_per_second", &Report::bytes_per_second, "Bytes delivered, divided by wall_seconds.")
      .def_prop_ro("batch_wait_seconds", &Report::batch_wait_seconds, "Time a batch was waited for, on average.")
      .def(
          "__str__", [](const Report& self) { return to_python(self.text()); }, nb::sig("def __str__(self) -> str"))
      .def(
          "__repr__", [](const Report& self) { return to_python(self.text()); }, nb::sig("def __repr__(self) -> str"))
      .def(
          "_repr_html_", [](const Report& self) { return to_python(html_text(self.text())); },
          nb::sig("def _repr_html_(self) -> str"))
      .def(
          "to_json", [](const Report& self) { return to_python(self.json()); }, nb::sig("def to_json(self) -> str"),
          "Return the report as JSON text.")
      .def(
          "to_dict",
          [](const Report& self) { return nb::module_::import_("json").attr("loads")(to_python(self.json())); },
          nb::sig("def to_dict(self) -> dict[str, typing.Any]"), "Return the report as plain Python objects.");
}

}  // namespace headrace::python
