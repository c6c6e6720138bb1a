#include "bind/field_memory.h"
#include "bind/register.h"

namespace headrace::python {
namespace {

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  const auto* memory = nb::inst_ptr<FieldMemory>(self);
  return PyBuffer_FillInfo(view, self, memory->data, static_cast<Py_ssize_t>(memory->size_bytes), 0, flags);
}

PyType_Slot buffer_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)}, {0, nullptr}};

}  // namespace

void register_delivery(nb::module_& m) {
  nb::class_<FieldMemory>(m, "FieldMemory", nb::type_slots(buffer_slots), nb::is_final(),
                          "Writable memory of one field of one batch; the base of the arrays handed out.");
}

}  // namespace headrace::python
