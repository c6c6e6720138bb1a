// Opens arbitrary bytes as .npy and as .npz, and locates and decodes whatever is small.
#include "format/npy/npy_reader.h"
#include "read_arrays.h"
#include "storage/testing/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  const auto file = std::make_shared<headrace::MemoryFile>("fuzz", std::vector<std::byte>(bytes, bytes + size));
  headrace::fuzz::read_arrays(headrace::npy::open_npy(file, "fuzz.npy"));
  headrace::fuzz::read_arrays(headrace::npy::open_npz(file, "fuzz.npz"));
  return 0;
}
