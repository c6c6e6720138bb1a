// The one mapping of errors to Python. The classes live in headrace/errors.py; here only the parts are handed over.
#include <headrace/error.h>

#include <exception>
#include <string>

#include "bind/register.h"
#include "bind/take_gil.h"
#include "bind/text.h"

namespace headrace::python {
namespace {

nb::object text_or_none(const std::string& text) {
  return text.empty() ? nb::none() : nb::object(to_python(text));
}

void raise_in_python(const Error& error) {
  nb::dict parts;
  parts["message"] = to_python(error.message());
  parts["file"] = text_or_none(error.file());
  parts["field"] = text_or_none(error.field());
  parts["chunk"] = text_or_none(error.chunk());
  parts["stage"] = text_or_none(error.stage());
  parts["hint"] = text_or_none(error.hint());
  if (error.bytes() == ByteRange{}) {
    parts["byte_range"] = nb::none();
  } else {
    parts["byte_range"] = nb::make_tuple(error.bytes().offset, error.bytes().size);
  }
  parts["needed_bytes"] = error.needed_bytes() ? nb::object(nb::int_(error.needed_bytes())) : nb::none();
  const nb::object from_engine = nb::module_::import_("headrace.errors").attr("from_engine");
  const nb::tuple arguments = nb::make_tuple(to_python(error.what()), to_python(to_string(error.code())), parts);
  const nb::object raised = nb::steal(headrace_call(from_engine.ptr(), arguments.ptr()));
  if (!raised.is_valid()) nb::raise_python_error();
  PyErr_SetObject(raised.type().ptr(), raised.ptr());
}

}  // namespace

void register_error(nb::module_&) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      try {
        raise_in_python(error);
      } catch (nb::python_error& inner) {  // for example: memory is exhausted
        inner.restore();
      }
    }
  });
}

}  // namespace headrace::python
