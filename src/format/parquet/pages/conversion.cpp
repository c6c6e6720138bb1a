#include "format/parquet/pages/conversion.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

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

/// Return the nearest double. Powers of ten are exact up to 10^22, so that one division rounds once for integers of up
/// to 53 bits; for all others the decimal is written down and read.
double scaled(__int128 unscaled, std::int32_t scale) {
  constexpr __int128 kExact = __int128{1} << 53;
  if (unscaled >= -kExact && unscaled <= kExact && scale >= 0 && scale <= 22)
    return static_cast<double>(unscaled) / std::pow(10.0, scale);
  const std::string text = fmt::format("{}e{}", unscaled, -std::int64_t{scale});
  double nearest = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), nearest).ec == std::errc() || unscaled == 0)
    return nearest;
  const double most = std::numeric_limits<double>::infinity();
  return scale > 0 ? 0 : unscaled < 0 ? -most : most;  // beyond all numbers
}

/// A big-endian integer in two's complement.
double big_endian_decimal(std::span<const std::byte> value, std::int32_t scale) {
  if (value.empty()) return 0;
  const bool negative = (std::to_integer<unsigned>(value[0]) & 0x80U) != 0;
  unsigned __int128 number = negative ? ~static_cast<unsigned __int128>(0) : 0;
  for (const std::byte byte : value) number = number << 8 | std::to_integer<unsigned>(byte);
  return scaled(static_cast<__int128>(number), scale);
}

/// Nanoseconds since 1970: those of the day are 8 bytes, its Julian number 4.
Result<std::int64_t> int96_ns(const std::byte* value) {
  constexpr __int128 kDayNs = __int128{86'400} * 1'000'000'000;
  constexpr __int128 kEpochDay = 2'440'588;  // 1970-01-01
  const __int128 ns = (load<std::int32_t>(value + 8) - kEpochDay) * kDayNs + load<std::int64_t>(value);
  if (ns < std::numeric_limits<std::int64_t>::min() || ns > std::numeric_limits<std::int64_t>::max())
    return Error(ErrorCode::kUnsupported, "a time too far from 1970 for nanoseconds in 64 bits");
  return static_cast<std::int64_t>(ns);
}

}  // namespace

Status convert_values(const LeafColumn& column, const std::byte* values, std::size_t count, std::byte* out) {
  const std::size_t size = column.value_bytes;
  switch (column.conversion) {
    case Conversion::kNone:
      if (values != out) copy_bytes(out, values, count * size);
      return {};
    case Conversion::kNarrow:  // the low bytes are the same with and without a sign
      if (column.dtype.itemsize == 1)
        narrow<std::uint8_t>(values, count, out);
      else
        narrow<std::uint16_t>(values, count, out);
      return {};
    case Conversion::kDecimalNumber:
      for (std::size_t i = count; i-- > 0;) {  // from the end: elements of 8 bytes may overwrite values of 4
        const std::int64_t number = size == 4 ? load<std::int32_t>(values + i * 4) : load<std::int64_t>(values + i * 8);
        store(out + i * 8, scaled(number, column.meaning.scale));
      }
      return {};
    case Conversion::kDecimalBytes: {
      // Elements of 8 bytes never overtake values that are longer, going up, or shorter, going down.
      const auto one = [&](std::size_t i) {
        store(out + i * 8, big_endian_decimal({values + i * size, size}, column.meaning.scale));
      };
      if (size >= 8)
        for (std::size_t i = 0; i < count; ++i) one(i);
      else
        for (std::size_t i = count; i-- > 0;) one(i);
      return {};
    }
    case Conversion::kInt96:
      for (std::size_t i = 0; i < count; ++i) {
        HEADRACE_ASSIGN(const std::int64_t ns, int96_ns(values + i * 12));
        store(out + i * 8, ns);
      }
      return {};
  }
  return {};
}

Status convert_bytes(const LeafColumn& column, std::span<const std::byte> value, std::byte* out) {
  if (value.size() > 16) return corrupt(fmt::format("a decimal of {} bytes, more than 16", value.size()));
  store(out, big_endian_decimal(value, column.meaning.scale));
  return {};
}

}  // namespace headrace::parquet
