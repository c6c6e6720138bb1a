#include "catalog/attribute_bytes.h"

#include <bit>
#include <type_traits>
#include <utility>

namespace headrace {
namespace {

template <class T>
struct ListOf : std::false_type {};
template <class T>
struct ListOf<std::vector<T>> : std::true_type {};

template <class T>
void pack_value(const T& value, PackedWriter& out) {
  if constexpr (ListOf<T>::value) {
    out.number(value.size());
    for (const auto& one : value) pack_value(one, out);
  } else if constexpr (std::is_same_v<T, bool>) {
    out.flag(value);
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    out.signed_number(value);
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    out.number(value);
  } else if constexpr (std::is_same_v<T, double>) {
    out.number(std::bit_cast<std::uint64_t>(value));
  } else {
    out.text(value);
  }
}

template <class T>
T unpack_value(PackedReader& in) {
  if constexpr (ListOf<T>::value) {
    T list;
    for (std::size_t n = in.count(); in.ok() && n > 0; --n) list.push_back(unpack_value<typename T::value_type>(in));
    return list;
  } else if constexpr (std::is_same_v<T, bool>) {
    return in.flag();
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return in.signed_number();
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return in.number();
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<double>(in.number());
  } else {
    return std::string(in.text());
  }
}

/// Read a value of the type with this number in the variant.
template <std::size_t I = 0>
AttributeValue unpack_kind(std::uint64_t kind, PackedReader& in) {
  if (kind == I) return unpack_value<std::variant_alternative_t<I, AttributeValue>>(in);
  if constexpr (I + 1 < std::variant_size_v<AttributeValue>)
    return unpack_kind<I + 1>(kind, in);
  else
    return {};
}

}  // namespace

void pack(const Attributes& attributes, PackedWriter& out) {
  out.number(attributes.values.size());
  for (const auto& [name, value] : attributes.values) {
    out.text(name);
    out.number(value.index());
    std::visit([&](const auto& v) { pack_value(v, out); }, value);
  }
  out.number(attributes.left_out.size());
  for (const auto& [name, why] : attributes.left_out) {
    out.text(name);
    out.text(why);
  }
}

Attributes unpack_attributes(PackedReader& in) {
  Attributes attributes;
  for (std::size_t n = in.count(); in.ok() && n > 0; --n) {
    std::string name(in.text());
    const std::uint64_t kind = in.number_up_to(std::variant_size_v<AttributeValue> - 1);
    attributes.values.emplace(std::move(name), unpack_kind(kind, in));
  }
  for (std::size_t n = in.count(); in.ok() && n > 0; --n) {
    std::string name(in.text());
    attributes.left_out.emplace(std::move(name), in.text());
  }
  return attributes;
}

}  // namespace headrace
