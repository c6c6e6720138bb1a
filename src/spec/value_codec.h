// ValueCodec: how values of a type are read, written, and told in words. One for each type of C++, and for each form in
// which members of a type may be written otherwise (forms.h).
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/packed.h"
#include "base/result.h"
#include "spec/value.h"

namespace headrace {

/// The range of a whole number, or of a size.
struct Bounds {
  std::uint64_t least = 0, most = std::numeric_limits<std::uint64_t>::max();
};

/// The usual form of a type.
struct Plain {};

/// Specialised for each type and form, with the functions of ValueType of that type.
template <class T, class Form = Plain>
struct ValueCodec;

/// The functions of a ValueCodec, without its type.
struct ValueType {
  std::string_view python;                     ///< Python's annotation of such values: "int", "bool | str".
  std::string (*words)(const Bounds& bounds);  ///< "a whole number of at least 1"
  /// Read a value; nothing (None) makes it not given, where the type has that. Errors: kInvalidArgument.
  Status (*read)(const Value& value, const At& at, const Bounds& bounds, void* to);
  Value (*write)(const void* from);
  void (*pack)(PackedWriter& out, const void* from);
  void (*unpack)(PackedReader& in, const Bounds& bounds, void* to);
};

/// Return what a codec says of Python's type of its values; one that says nothing takes several.
template <class Codec>
constexpr std::string_view python_type() {
  if constexpr (requires { Codec::python; })
    return Codec::python;
  else
    return "Any";
}

template <class T, class Form = Plain>
inline constexpr ValueType value_type = {
    python_type<ValueCodec<T, Form>>(),
    &ValueCodec<T, Form>::words,
    [](const Value& value, const At& at, const Bounds& bounds, void* to) {
      return ValueCodec<T, Form>::read(value, at, bounds, *static_cast<T*>(to));
    },
    [](const void* from) { return ValueCodec<T, Form>::write(*static_cast<const T*>(from)); },
    [](PackedWriter& out, const void* from) { ValueCodec<T, Form>::pack(out, *static_cast<const T*>(from)); },
    [](PackedReader& in, const Bounds& bounds, void* to) {
      ValueCodec<T, Form>::unpack(in, bounds, *static_cast<T*>(to));
    }};

}  // namespace headrace
