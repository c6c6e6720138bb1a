#include "transform/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/text/nearest_name.h"

namespace headrace {
namespace {

using Kind = DType::Kind;

/// IEEE half precision, as its bits.
struct Half {
  std::uint16_t bits;
};
/// The upper half of a float, as its bits.
struct BFloat {
  std::uint16_t bits;
};

float value_of(Half half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half.bits & 0x8000u) << 16;
  const std::uint32_t exponent = half.bits >> 10 & 0x1Fu, fraction = half.bits & 0x3FFu;
  if (exponent == 0)  // 0, or below the least normal number: fraction * 2^-24
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(fraction) * 0x1p-24F) | sign);
  const std::uint32_t widened = exponent == 31 ? 0xFFu : exponent + 112;
  return std::bit_cast<float>(sign | widened << 23 | fraction << 13);
}
float value_of(BFloat number) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(number.bits) << 16);
}

void set(Half& to, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000u, size = bits & 0x7FFFFFFFu;
  std::uint32_t made = 0;
  if (size > 0x7F800000u)
    made = 0x7E00u;  // NaN
  else if (size >= 0x477FF000u)
    made = 0x7C00u;             // rounds to more than the largest
  else if (size < 0x38800000u)  // below the least normal number: let the addition of 0.5 round, ties to even
    made = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5F) - 0x3F000000u;
  else
    made = (size - 0x38000000u + 0xFFFu + (size >> 13 & 1u)) >> 13;
  to.bits = static_cast<std::uint16_t>(sign | made);
}
void set(BFloat& to, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16;
  to.bits = static_cast<std::uint16_t>((bits & 0x7FFFFFFFu) > 0x7F800000u ? (bits >> 16) | 0x40u : rounded);
}
/// A double goes to half the way that rounds once: what float drops is kept as a bit that breaks ties.
float rounded_to_odd(double value) {
  const auto near = static_cast<float>(value);
  if (static_cast<double>(near) == value || std::isnan(value) || std::isinf(near)) return near;
  auto bits = std::bit_cast<std::uint32_t>(near);
  if ((std::abs(static_cast<double>(near)) > std::abs(value))) --bits;  // towards zero
  return std::bit_cast<float>(bits | 1u);
}
template <class To>
void set_half(To& to, float value) {
  set(to, value);
}
template <class To>
void set_half(To& to, double value) {
  set(to, rounded_to_odd(value));
}

template <class To, class C>
To to_integer(C value) {
  // Limits as C: the upper one may round up, so it is not reached.
  constexpr C least = static_cast<C>(std::numeric_limits<To>::min());
  constexpr C above = static_cast<C>(std::numeric_limits<To>::max());
  if (!(value > least)) return std::isnan(value) ? To{0} : std::numeric_limits<To>::min();
  return value >= above ? std::numeric_limits<To>::max() : static_cast<To>(value);
}

/// Call `work` with a value of the type that `type` stands for. Others: not at all.
template <class Work>
void with_type(const DType& type, Work work) {
  const auto integer = [&](auto one, auto two, auto four, auto eight) {
    switch (type.itemsize) {
      case 1:
        return work(one);
      case 2:
        return work(two);
      case 4:
        return work(four);
      default:
        return work(eight);
    }
  };
  switch (type.kind) {
    case Kind::kBool:
      return work(bool{});
    case Kind::kInt:
      return integer(std::int8_t{}, std::int16_t{}, std::int32_t{}, std::int64_t{});
    case Kind::kUInt:
      return integer(std::uint8_t{}, std::uint16_t{}, std::uint32_t{}, std::uint64_t{});
    case Kind::kFloat:
      if (type.itemsize == 2) return work(Half{});
      return type.itemsize == 4 ? work(float{}) : work(double{});
    case Kind::kBFloat:
      return work(BFloat{});
    case Kind::kComplex:
    case Kind::kBytes:
      return;
  }
}

}  // namespace

bool is_number(const DType& type) {
  return type.kind != Kind::kComplex && type.kind != Kind::kBytes;
}
bool fits_float(const DType& type) {
  if (type.kind == Kind::kFloat) return type.itemsize <= 4;
  if (type.kind == Kind::kInt || type.kind == Kind::kUInt) return type.itemsize <= 2;
  return type.kind == Kind::kBool || type.kind == Kind::kBFloat;
}
DType result_type(const DType& type) {
  return type == DType{Kind::kFloat, 8} ? type : DType{Kind::kFloat, 4};
}

bool has_number(const DType& type, double value) {
  alignas(8) std::byte stored[8];
  double back = 0;
  store_numbers(type, &value, 1, stored);
  load_numbers(type, stored, 1, &back);
  const bool floating = type.kind == DType::Kind::kFloat || type.kind == DType::Kind::kBFloat;
  return floating ? std::isfinite(back) == std::isfinite(value) : back == value;
}

Result<DType> type_of_name(std::string_view name) {
  static const std::vector<DType> types = {{Kind::kBool, 1},  {Kind::kInt, 1},   {Kind::kInt, 2},   {Kind::kInt, 4},
                                           {Kind::kInt, 8},   {Kind::kUInt, 1},  {Kind::kUInt, 2},  {Kind::kUInt, 4},
                                           {Kind::kUInt, 8},  {Kind::kFloat, 2}, {Kind::kFloat, 4}, {Kind::kFloat, 8},
                                           {Kind::kBFloat, 2}};
  std::vector<std::string> names;
  for (const DType& type : types) {
    if (type.name() == name) return type;
    names.push_back(type.name());
  }
  Error error(ErrorCode::kInvalidArgument, fmt::format("no type of numbers is called '{}'", name));
  return error.with_hint(fmt::format("There are: {}.", list_names(nearest_names(name, names), 13)));
}

template <class C>
void load_numbers(const DType& type, const std::byte* from, std::size_t n, C* to) {
  with_type(type, [&](auto one) {
    using T = decltype(one);
    if constexpr (std::is_same_v<T, C>) {
      std::memcpy(to, from, n * sizeof(C));
    } else {
      const auto* values = reinterpret_cast<const T*>(from);
      for (std::size_t i = 0; i < n; ++i)
        if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>)
          to[i] = static_cast<C>(value_of(values[i]));
        else if constexpr (std::is_same_v<T, bool>)
          to[i] = from[i] != std::byte{0} ? C{1} : C{0};
        else
          to[i] = static_cast<C>(values[i]);
    }
  });
}

template <class C>
void store_numbers(const DType& type, const C* from, std::size_t n, std::byte* to) {
  with_type(type, [&](auto one) {
    using T = decltype(one);
    auto* values = reinterpret_cast<T*>(to);
    if constexpr (std::is_same_v<T, C>) {
      std::memcpy(to, from, n * sizeof(C));
    } else {
      for (std::size_t i = 0; i < n; ++i)
        if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>)
          set_half(values[i], from[i]);
        else if constexpr (std::is_same_v<T, bool>)
          to[i] = std::byte{from[i] != C{0}};
        else if constexpr (std::is_integral_v<T>)
          values[i] = to_integer<T>(from[i]);
        else
          values[i] = static_cast<T>(from[i]);
    }
  });
}

bool is_whole(const DType& type) {
  return type.kind == Kind::kBool || type.kind == Kind::kInt || type.kind == Kind::kUInt;
}

template <class C>
std::optional<C> misfit(const DType& type, std::span<const C> values, bool whole) {
  std::optional<C> found;
  with_type(type, [&](auto one) {
    using T = decltype(one);
    if constexpr (std::is_integral_v<T>) {
      // Values are cut towards zero: -0.5 is a 0 of uint8. The limit above is a power of two, which C has; one below
      // the least may not be, and then C has nothing between the two.
      const C above = std::ldexp(C{1}, std::numeric_limits<T>::digits),
              least = static_cast<C>(std::numeric_limits<T>::min());
      constexpr bool has_below =
          std::numeric_limits<T>::digits < std::numeric_limits<C>::digits || std::is_unsigned_v<T>;
      const auto fits = [&](C v) {
        if constexpr (std::is_same_v<T, bool>) return !std::isnan(v);
        const bool low = has_below ? v > least - 1 : v >= least;
        return low && v < above && (!whole || v == std::trunc(v));
      };
      bool all = true;
      for (const C v : values) all &= fits(v);
      if (!all) found = *std::ranges::find_if_not(values, fits);
    }
  });
  return found;
}
template std::optional<float> misfit(const DType&, std::span<const float>, bool);
template std::optional<double> misfit(const DType&, std::span<const double>, bool);

std::string cast_integers(const DType& from_type, const std::byte* from, std::size_t n, const DType& to_type,
                          std::byte* to) {
  std::string wrong;
  with_type(from_type, [&](auto from_one) {
    using From = decltype(from_one);
    if constexpr (std::is_integral_v<From>)
      with_type(to_type, [&](auto to_one) {
        using To = decltype(to_one);
        if constexpr (std::is_integral_v<To>) {
          for (std::size_t i = 0; i < n; ++i) {
            From value;
            std::memcpy(&value, from + i * sizeof(From), sizeof(From));
            if constexpr (std::is_same_v<From, bool>) {
              const To made = from[i] != std::byte{0} ? To{1} : To{0};
              std::memcpy(to + i * sizeof(To), &made, sizeof(To));
            } else if constexpr (std::is_same_v<To, bool>) {
              to[i] = std::byte{value != 0};
            } else {
              if (!std::in_range<To>(value) && wrong.empty()) wrong = fmt::format("{}", value);
              const auto made = static_cast<To>(value);  // NOLINT(bugprone-signed-char-misuse): a number
              std::memcpy(to + i * sizeof(To), &made, sizeof(To));
            }
          }
        }
      });
  });
  return wrong;
}

template void load_numbers(const DType&, const std::byte*, std::size_t, float*);
template void load_numbers(const DType&, const std::byte*, std::size_t, double*);
template void store_numbers(const DType&, const float*, std::size_t, std::byte*);
template void store_numbers(const DType&, const double*, std::size_t, std::byte*);

}  // namespace headrace
