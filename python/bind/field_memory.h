// FieldMemory: the memory of one field of one batch as a Python object with the buffer protocol, the base of a NumPy
// array. NumPy then makes the array of any dtype over it, fixed strings included, which DLPack cannot express.
#pragma once

#include <cstddef>
#include <memory>

namespace headrace::python {

struct FieldMemory {
  std::shared_ptr<void> holder;
  std::byte* data;
  std::size_t size_bytes;
};

}  // namespace headrace::python
