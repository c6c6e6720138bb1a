// Small things every decoder needs: numbers out of a header, a copy that accepts nothing, and the error for damage.
#pragma once

#include <headrace/error.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>

namespace headrace {

inline Error corrupt(std::string message) {
  return Error(ErrorCode::kCorruptData, std::move(message));
}

/// Load a big-endian number at p; the caller has checked that it is inside the buffer.
inline std::uint32_t load_be32(const std::byte* p) {
  std::uint32_t value;
  std::memcpy(&value, p, sizeof value);
  if constexpr (std::endian::native == std::endian::little) value = __builtin_bswap32(value);
  return value;
}
inline std::uint64_t load_be64(const std::byte* p) {
  return std::uint64_t{load_be32(p)} << 32 | load_be32(p + 4);
}
inline std::uint32_t load_le32(const std::byte* p) {
  return __builtin_bswap32(load_be32(p));
}
inline std::uint64_t load_le64(const std::byte* p) {
  return __builtin_bswap64(load_be64(p));
}

/// Copy as memcpy does, which may be asked for nothing here (a null pointer with size 0 is undefined in memcpy itself).
inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t size) {
  if (size != 0) std::memcpy(to, from, size);
}

inline const std::uint8_t* as_u8(const std::byte* p) {
  return reinterpret_cast<const std::uint8_t*>(p);
}
inline std::uint8_t* as_u8(std::byte* p) {
  return reinterpret_cast<std::uint8_t*>(p);
}
inline const char* as_char(const std::byte* p) {
  return reinterpret_cast<const char*>(p);
}
inline char* as_char(std::byte* p) {
  return reinterpret_cast<char*>(p);
}

}  // namespace headrace
