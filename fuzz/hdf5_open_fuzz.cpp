// Opens arbitrary bytes as HDF5, walks over them, and locates and decodes whatever is small. libhdf5 is not
// instrumented: the sanitizers see our own code, and what libhdf5 does to the heap through memcpy and its like.
#include "format/hdf5/hdf5_reader.h"
#include "read_arrays.h"
#include "storage/testing/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  auto memory = std::make_shared<headrace::MemoryFile>("fuzz.h5", std::vector<std::byte>(bytes, bytes + size));
  headrace::fuzz::read_arrays(headrace::hdf5::open_hdf5(std::move(memory), "fuzz.h5"));
  return 0;
}
