// Element types, named as NumPy names them. Values are always handed out in native byte order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace headrace {

/// Type of one array element.
struct DType {
  /// What the bytes of an element mean.
  enum class Kind : std::uint8_t {
    kBool,     ///< False or true, one byte.
    kInt,      ///< Signed integers.
    kUInt,     ///< Unsigned integers.
    kFloat,    ///< IEEE floating point.
    kComplex,  ///< Real and imaginary part, both floating point.
    kBytes,    ///< Bytes of a fixed length, for example text.
    kBFloat,   ///< bfloat16, the upper half of a float32: made by a transform, never stored.
  };
  Kind kind = Kind::kUInt;  ///< What the bytes mean.
  /// Bytes of an element: 1, 2, 4, 8 for integers; 2, 4, 8 (and 16 for kComplex) for floats; any length for kBytes.
  std::uint32_t itemsize = 1;

  /// Return NumPy's name: "float32", "int64", "bool", "complex64", "S6"; "bfloat16", which is that of ml_dtypes.
  [[nodiscard]] std::string name() const;
  /// Return NumPy's type string in native order, for example "<f4", "|b1", "|S6"; "bfloat16" has none
  /// in NumPy itself: "<V2".
  [[nodiscard]] std::string numpy_typestr() const;
  friend bool operator==(const DType&, const DType&) = default;
};

}  // namespace headrace
