#include "dataset/samples/whole_numbers.h"

#include <cstring>

namespace headrace {

std::vector<std::int64_t> whole_numbers(const Tensor& array) {
  const DType& type = array.dtype();
  const unsigned shift = 64 - 8 * static_cast<unsigned>(type.itemsize);
  std::vector<std::int64_t> values(array.rows());
  for (std::uint64_t i = 0; i < values.size(); ++i) {
    std::uint64_t bits = 0;  // little-endian, as all that is delivered
    std::memcpy(&bits, array.data() + i * type.itemsize, type.itemsize);
    values[i] = type.kind == DType::Kind::kInt ? static_cast<std::int64_t>(bits << shift) >> shift
                                               : static_cast<std::int64_t>(bits);
  }
  return values;
}

}  // namespace headrace
