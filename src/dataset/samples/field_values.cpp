#include "dataset/samples/field_values.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace headrace {
namespace {

template <class T>
void convert(const std::byte* from, std::span<double> to) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    to[i] = static_cast<double>(value);
  }
}

void convert_bools(const std::byte* from, std::span<double> to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = from[i] == std::byte{0} ? 0 : 1;
}

// IEEE 754 binary16: sign, 5 bits of exponent with bias 15, 10 bits of fraction.
constexpr int kHalfFraction = 10, kHalfBias = 15, kHalfSpecial = 31;

double of_half(std::uint16_t bits) {
  const int exponent = bits >> kHalfFraction & kHalfSpecial, fraction = bits & ((1 << kHalfFraction) - 1);
  double value = 0;
  if (exponent == kHalfSpecial)
    value = fraction == 0 ? HUGE_VAL : std::nan("");
  else if (exponent == 0)
    value = std::ldexp(fraction, 1 - kHalfBias - kHalfFraction);
  else
    value = std::ldexp(fraction + (1 << kHalfFraction), exponent - kHalfBias - kHalfFraction);
  return (bits & 0x8000) != 0 ? -value : value;
}

void convert_halves(const std::byte* from, std::span<double> to) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, from + i * sizeof bits, sizeof bits);
    to[i] = of_half(bits);
  }
}

double round_to_float(double value) {
  return static_cast<double>(static_cast<float>(value));
}

double round_to_half(double value) {
  constexpr double kBeyond = 65520;  // rounds to infinity from here on
  if (!std::isfinite(value) || value == 0) return value;
  if (std::abs(value) >= kBeyond) return std::copysign(HUGE_VAL, value);
  const int exponent = std::max(std::ilogb(value), 1 - kHalfBias);
  return std::ldexp(std::nearbyint(std::ldexp(value, kHalfFraction - exponent)), exponent - kHalfFraction);
}

}  // namespace

ToDoubles to_doubles(const DType& dtype) {
  const bool is_signed = dtype.kind == DType::Kind::kInt;
  switch (dtype.kind) {
    case DType::Kind::kBool:
      return convert_bools;
    case DType::Kind::kFloat:
      return dtype.itemsize == 2   ? convert_halves
             : dtype.itemsize == 4 ? convert<float>
             : dtype.itemsize == 8 ? convert<double>
                                   : nullptr;
    case DType::Kind::kInt:
    case DType::Kind::kUInt:
      switch (dtype.itemsize) {
        case 1:
          return is_signed ? convert<std::int8_t> : convert<std::uint8_t>;
        case 2:
          return is_signed ? convert<std::int16_t> : convert<std::uint16_t>;
        case 4:
          return is_signed ? convert<std::int32_t> : convert<std::uint32_t>;
        case 8:
          return is_signed ? convert<std::int64_t> : convert<std::uint64_t>;
        default:
          return nullptr;
      }
    default:
      return nullptr;
  }
}

double (*rounding_to(const DType& dtype))(double) {
  if (dtype.kind != DType::Kind::kFloat) return nullptr;
  return dtype.itemsize == 2 ? round_to_half : dtype.itemsize == 4 ? round_to_float : nullptr;
}

}  // namespace headrace
