#include <headrace/dtype.h>

#include <fmt/format.h>

#include <bit>

namespace headrace {

std::string DType::name() const {
  switch (kind) {
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return fmt::format("int{}", itemsize * 8);
    case Kind::kUInt:
      return fmt::format("uint{}", itemsize * 8);
    case Kind::kFloat:
      return fmt::format("float{}", itemsize * 8);
    case Kind::kComplex:
      return fmt::format("complex{}", itemsize * 8);
    case Kind::kBytes:
      return fmt::format("S{}", itemsize);
    case Kind::kBFloat:
      return fmt::format("bfloat{}", itemsize * 8);
  }
  return "?";
}

std::string DType::numpy_typestr() const {
  static_assert(std::endian::native == std::endian::little, "Headrace runs on little-endian machines");
  static constexpr char kLetters[] = {'b', 'i', 'u', 'f', 'c', 'S', 'V'};
  const char letter = kLetters[static_cast<int>(kind)];
  const bool no_order = kind == Kind::kBytes || itemsize == 1;
  return fmt::format("{}{}{}", no_order ? '|' : '<', letter, itemsize);
}

}  // namespace headrace
