#include "format/parquet/conversion.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "codec/coded_bytes.h"

namespace headrace::parquet {
namespace {

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <class T>
void store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

template <class To>
void narrow(const std::byte* values, std::size_t count, std::byte* out) {
  for (std::size_t i = 0; i < count; ++i)
    store(out + i * sizeof(To), static_cast<To>(load<std::int32_t>(values + i * 4)));
}

/// 10^scale is exact up to 22, so that one rounding is all there is for integers below 2^53.
double scaled(double unscaled, std::int32_t scale) {
  return scale >= 0 ? unscaled / std::pow(10.0, scale) : unscaled * std::pow(10.0, -static_cast<double>(scale));
}

/// A big-endian integer in two's complement.
double big_endian_decimal(std::span<const std::byte> value, std::int32_t scale) {
  if (value.empty()) return 0;
  const bool negative = (std::to_integer<unsigned>(value[0]) & 0x80U) != 0;
  unsigned __int128 number = negative ? ~static_cast<unsigned __int128>(0) : 0;
  for (const std::byte byte : value) number = number << 8 | std::to_integer<unsigned>(byte);
  return scaled(static_cast<double>(static_cast<__int128>(number)), scale);
}

/// Nanoseconds since 1970: those of the day are 8 bytes, its Julian number 4. Wraps where 64 bits are too few.
std::int64_t int96_ns(const std::byte* value) {
  constexpr std::uint64_t kDayNs = 86'400ULL * 1'000'000'000ULL;
  constexpr std::uint64_t kEpochDay = 2'440'588;  // 1970-01-01
  const auto ns = load<std::uint64_t>(value);
  const auto day = static_cast<std::uint64_t>(load<std::int32_t>(value + 8));
  return static_cast<std::int64_t>((day - kEpochDay) * kDayNs + ns);
}

}  // namespace

void convert_values(const LeafColumn& column, const std::byte* values, std::size_t count, std::byte* out) {
  const std::size_t size = column.value_bytes;
  switch (column.conversion) {
    case Conversion::kNone:
      if (values != out) copy_bytes(out, values, count * size);
      return;
    case Conversion::kNarrow:  // the low bytes are the same with and without a sign
      return column.dtype.itemsize == 1 ? narrow<std::uint8_t>(values, count, out)
                                        : narrow<std::uint16_t>(values, count, out);
    case Conversion::kDecimalNumber:
      for (std::size_t i = count; i-- > 0;) {  // from the end: elements of 8 bytes may overwrite values of 4
        const double number = size == 4 ? static_cast<double>(load<std::int32_t>(values + i * 4))
                                        : static_cast<double>(load<std::int64_t>(values + i * 8));
        store(out + i * 8, scaled(number, column.meaning.scale));
      }
      return;
    case Conversion::kDecimalBytes: {
      // Elements of 8 bytes never overtake values that are longer, going up, or shorter, going down.
      const auto one = [&](std::size_t i) {
        store(out + i * 8, big_endian_decimal({values + i * size, size}, column.meaning.scale));
      };
      if (size >= 8)
        for (std::size_t i = 0; i < count; ++i) one(i);
      else
        for (std::size_t i = count; i-- > 0;) one(i);
      return;
    }
    case Conversion::kInt96:
      for (std::size_t i = 0; i < count; ++i) store(out + i * 8, int96_ns(values + i * 12));
      return;
  }
}

Status convert_bytes(const LeafColumn& column, std::span<const std::byte> value, std::byte* out) {
  if (value.size() > 16) return corrupt(fmt::format("a decimal of {} bytes, more than 16", value.size()));
  store(out, big_endian_decimal(value, column.meaning.scale));
  return {};
}

}  // namespace headrace::parquet
