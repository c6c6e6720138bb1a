#include <headrace/catalog/field.h>

namespace headrace {

std::uint64_t Field::row_elements() const {
  std::uint64_t n = 1;
  for (std::uint64_t d : shape) n *= d;
  return n;
}

}  // namespace headrace
