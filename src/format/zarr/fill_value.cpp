// Fill values: a JSON value as the bytes of an element. Zarr v2 spells them as NumPy prints them, and text in base64;
// v3 has hexadecimal bits of floating point numbers besides. Source: the two specifications, "fill value".
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "format/zarr/array_metadata.h"

namespace headrace::zarr {
namespace {

Error no_fill(const Json& value, const std::string& type) {
  return Error(ErrorCode::kCorruptData, fmt::format("the fill value {} is none of {}", shown(value), type));
}

/// The bits of a float16, rounded to nearest even.
std::uint16_t half_bits(double value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const double size = std::abs(value);
  if (std::isnan(value)) return sign | 0x7e00;
  if (size >= 65520) return sign | 0x7c00;
  if (size == 0) return sign;
  int exponent = 0;
  (void)std::frexp(size, &exponent);
  const int shift = std::max(exponent - 11, -24);  // of the last of 11 bits; below 2^-14 they lie at 2^-24
  const auto mantissa = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(size, -shift)));
  // A mantissa that was rounded up to 2^11 carries into the exponent by itself.
  return static_cast<std::uint16_t>(sign + (shift == -24 ? mantissa : ((shift + 24) << 10) + mantissa));
}

std::optional<std::vector<std::byte>> from_hex(std::string_view text, std::size_t bytes) {
  if (!text.starts_with("0x") || text.size() != 2 + 2 * bytes) return std::nullopt;
  std::vector<std::byte> out(bytes);
  for (std::size_t i = 0; i < 2 * bytes; ++i) {
    const char c = text[2 + i];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return std::nullopt;
    std::byte& to = out[bytes - 1 - i / 2];  // the first digits are the highest, which lie last
    to = to << 4 | static_cast<std::byte>(digit);
  }
  return out;
}

std::optional<std::vector<std::byte>> from_base64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  while (text.ends_with('=')) text.remove_suffix(1);
  std::vector<std::byte> out;
  std::uint32_t bits = 0;
  int have = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    have += 6;
    if (have < 8) continue;
    have -= 8;
    out.push_back(static_cast<std::byte>(bits >> have));
  }
  return out;
}

template <class T>
void put(T value, std::span<std::byte> out) {
  std::memcpy(out.data(), &value, sizeof value);
}

bool put_float(const Json& value, std::span<std::byte> out) {
  double number = 0;
  if (value.is_string()) {
    const auto text = value.get<std::string>();
    if (const auto bits = from_hex(text, out.size())) {
      std::ranges::copy(*bits, out.begin());
      return true;
    }
    if (text == "NaN")
      number = std::numeric_limits<double>::quiet_NaN();
    else if (text == "Infinity" || text == "-Infinity")
      number = text[0] == '-' ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    else
      return false;
  } else if (value.is_number() || value.is_boolean()) {
    number = value.is_boolean() ? static_cast<double>(value.get<bool>()) : value.get<double>();
  } else {
    return false;
  }
  if (out.size() == 2) put(half_bits(number), out);
  if (out.size() == 4) put(static_cast<float>(number), out);
  if (out.size() == 8) put(number, out);
  return out.size() == 2 || out.size() == 4 || out.size() == 8;
}

/// Whole numbers, also such as 0.0 and true, which some writers put there.
bool put_whole(const Json& value, bool is_signed, std::span<std::byte> out) {
  const std::size_t bits = out.size() * 8;
  std::uint64_t pattern = 0;
  if (value.is_boolean()) {
    pattern = value.get<bool>() ? 1 : 0;
  } else if (value.is_number_float()) {
    const auto number = value.get<double>();
    if (number != std::floor(number) || std::abs(number) >= 0x1p53) return false;
    return put_whole(Json(static_cast<std::int64_t>(number)), is_signed, out);
  } else if (value.is_number_unsigned()) {
    pattern = value.get<std::uint64_t>();
    const std::uint64_t most = ~std::uint64_t{0} >> (64 - bits + (is_signed ? 1 : 0));
    if (pattern > most) return false;
  } else if (value.is_number_integer()) {
    const auto number = value.get<std::int64_t>();
    if (number < 0 && (!is_signed || number < -(std::int64_t{1} << (bits - 2)) * 2)) return false;
    if (number >= 0) return put_whole(Json(static_cast<std::uint64_t>(number)), is_signed, out);
    pattern = static_cast<std::uint64_t>(number);
  } else {
    return false;
  }
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(pattern >> 8 * i);
  return true;
}

bool put_value(const Json& value, DType dtype, std::span<std::byte> out) {
  switch (dtype.kind) {
    case DType::Kind::kBool:
      return put_whole(value, false, out) && std::to_integer<int>(out[0]) <= 1;
    case DType::Kind::kInt:
    case DType::Kind::kUInt:
      return put_whole(value, dtype.kind == DType::Kind::kInt, out);
    case DType::Kind::kFloat:
      return put_float(value, out);
    case DType::Kind::kComplex: {
      const std::size_t half = out.size() / 2;
      if (!value.is_array()) return put_float(value, out.first(half));
      return value.size() == 2 && put_float(value[0], out.first(half)) && put_float(value[1], out.subspan(half));
    }
    case DType::Kind::kBytes:
    case DType::Kind::kBFloat:
      break;
  }
  return false;
}

}  // namespace

Result<std::vector<std::byte>> fill_of(const Json& value, const npy::NpyType& type) {
  if (value.is_null()) return std::vector<std::byte>();
  const bool text = !type.is_record && type.columns.size() == 1 && type.columns[0].dtype.kind == DType::Kind::kBytes;
  if (type.is_record || text) {
    if (value.is_number() && value == 0) return std::vector<std::byte>();  // what NumPy makes of zeros
    if (!value.is_string()) return no_fill(value, type.is_record ? "a record" : "text");
    auto bytes = from_base64(value.get<std::string>());
    if (!bytes || bytes->size() > type.record_bytes || (type.is_record && bytes->size() != type.record_bytes))
      return no_fill(value, fmt::format("{} bytes in base64", type.record_bytes));
    if (type.is_record) npy::to_native(type, *bytes);
    return std::move(*bytes);
  }
  if (type.columns.size() != 1) return no_fill(value, "its type");
  const DType dtype = type.columns[0].dtype;
  std::vector<std::byte> out(type.record_bytes == dtype.itemsize ? dtype.itemsize : 0);
  if (out.empty() || !put_value(value, dtype, out)) return no_fill(value, dtype.name());
  return out;
}

}  // namespace headrace::zarr
