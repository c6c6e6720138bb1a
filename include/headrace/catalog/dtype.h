// Element types, named as NumPy names them. Values are always handed out in native byte order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace headrace {

/// Type of one array element.
struct DType {
  enum class Kind : std::uint8_t { kBool, kInt, kUInt, kFloat, kComplex, kBytes };
  Kind kind = Kind::kUInt;
  /// Bytes of an element: 1, 2, 4, 8 for integers; 2, 4, 8 (and 16 for kComplex) for floats; any length for kBytes.
  std::uint32_t itemsize = 1;

  /// Return NumPy's name: "float32", "int64", "bool", "complex64", "S6".
  [[nodiscard]] std::string name() const;
  /// Return NumPy's type string in native order, for example "<f4", "|b1", "|S6".
  [[nodiscard]] std::string numpy_typestr() const;
  friend bool operator==(const DType&, const DType&) = default;
};

}  // namespace headrace
