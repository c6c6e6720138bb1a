// Numbers that are compared exactly: integers beyond 2^53 do not pass through double.
#pragma once

#include <headrace/dtype.h>
#include <headrace/whole_number.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <variant>

#include "transform/numbers.h"

namespace headrace {

/// A number of a setting.
using ExactNumber = std::variant<double, WholeNumber>;

/// Call `work` with a value of the type that holds every value of `type`: std::int64_t, std::uint64_t or double.
template <class Work>
auto with_exact(const DType& type, Work work) {
  if (type.kind == DType::Kind::kInt) return work(std::int64_t{});
  if (is_whole(type)) return work(std::uint64_t{});
  return work(double{});
}

/// Read `n` numbers of a type as the one that with_exact() has for it.
template <class Number>
void load_exact(const DType& type, const std::byte* from, std::size_t n, Number* to) {
  if constexpr (std::is_floating_point_v<Number>) {
    load_numbers(type, from, n, to);
  } else {
    const DType wide{std::is_signed_v<Number> ? DType::Kind::kInt : DType::Kind::kUInt, sizeof(Number)};
    cast_integers(type, from, n, wide, reinterpret_cast<std::byte*>(to));
  }
}

/// Return the number itself; nullopt: the type does not have it.
template <class Number>
std::optional<Number> same_number(const ExactNumber& number) {
  if (const auto* whole = std::get_if<WholeNumber>(&number)) return whole->as<Number>();
  const double value = std::get<double>(number);
  if constexpr (std::is_floating_point_v<Number>) return value;
  const std::optional<WholeNumber> whole = WholeNumber::of(value);
  return whole ? whole->as<Number>() : std::nullopt;
}

/// Return the least number of the type that is not below this one; nullopt: all are.
template <class Number>
std::optional<Number> least_from(const ExactNumber& number) {
  if (const std::optional<Number> same = same_number<Number>(number)) return same;
  if constexpr (std::is_floating_point_v<Number>) {
    const WholeNumber whole = std::get<WholeNumber>(number);
    const auto near = whole.rounded<Number>();
    const std::optional<WholeNumber> back = WholeNumber::of(near);  // nullopt: 2^64
    return !back || *back > whole ? near : std::nextafter(near, std::numeric_limits<Number>::infinity());
  } else {
    constexpr Number kLeast = std::numeric_limits<Number>::min();
    if (const auto* whole = std::get_if<WholeNumber>(&number))
      return *whole < WholeNumber(kLeast) ? std::optional(kLeast) : std::nullopt;
    const double above = std::ceil(std::get<double>(number));
    if (above < static_cast<double>(kLeast)) return kLeast;
    return same_number<Number>(above);  // no type has what lies beyond its largest
  }
}

}  // namespace headrace
