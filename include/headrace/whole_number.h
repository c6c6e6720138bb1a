// WholeNumber: an integer of any type, exactly.
#pragma once

#include <cmath>
#include <compare>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace headrace {

/// A whole number from -2^63 to 2^64 - 1: what the integer types hold together.
class WholeNumber {
 public:
  WholeNumber() = default;
  /// Take any integer.
  template <std::integral T>
  WholeNumber(T value)  // NOLINT(google-explicit-constructor): every integer is one
      : is_at_least_0_(!std::is_signed_v<T> || value >= T{0}), bits_(static_cast<std::uint64_t>(value)) {}

  /// Return it as another type; nullopt: the type does not have it.
  template <class T>
  [[nodiscard]] std::optional<T> as() const {
    if constexpr (std::is_floating_point_v<T>) {
      const T near = rounded<T>();
      const bool is_same = of(near) == *this;
      return is_same ? std::optional(near) : std::nullopt;
    } else if (is_at_least_0_) {
      return std::in_range<T>(bits_) ? std::optional(static_cast<T>(bits_)) : std::nullopt;
    } else {
      const auto value = static_cast<std::int64_t>(bits_);
      return std::in_range<T>(value) ? std::optional(static_cast<T>(value)) : std::nullopt;
    }
  }
  /// Return the nearest number of a floating point type.
  template <std::floating_point T>
  [[nodiscard]] T rounded() const {
    return is_at_least_0_ ? static_cast<T>(bits_) : static_cast<T>(static_cast<std::int64_t>(bits_));
  }
  /// Return the whole number that a floating point number is; nullopt: it is none, or out of the range.
  template <std::floating_point T>
  [[nodiscard]] static std::optional<WholeNumber> of(T value) {
    if (!(value >= T{-0x1p63} && value < T{0x1p64}) || value != std::floor(value)) return std::nullopt;
    return value < 0 ? WholeNumber(static_cast<std::int64_t>(value)) : WholeNumber(static_cast<std::uint64_t>(value));
  }
  /// Return its lowest 64 bits, of a negative number in two's complement.
  [[nodiscard]] std::uint64_t bits() const { return bits_; }
  /// Return it in decimal digits.
  [[nodiscard]] std::string text() const {
    return is_at_least_0_ ? std::to_string(bits_) : std::to_string(static_cast<std::int64_t>(bits_));
  }

  friend bool operator==(const WholeNumber&, const WholeNumber&) = default;
  friend auto operator<=>(const WholeNumber&, const WholeNumber&) = default;  // by sign, then by the bits

 private:
  bool is_at_least_0_ = true;
  std::uint64_t bits_ = 0;
};

}  // namespace headrace
