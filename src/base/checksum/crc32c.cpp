#include "base/checksum/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace headrace {
namespace {

// Polynomials over GF(2) modulo the Castagnoli polynomial, bits reversed: the highest bit is the coefficient of x^0.
constexpr std::uint32_t kPolynomial = 0x82F63B78;

constexpr std::uint32_t times_x(std::uint32_t a) {
  return (a & 1) != 0 ? (a >> 1) ^ kPolynomial : a >> 1;
}

constexpr std::uint32_t product(std::uint32_t a, std::uint32_t b) {
  std::uint32_t sum = 0;
  for (std::uint32_t bit = 1u << 31; bit != 0; bit >>= 1, b = times_x(b))
    if ((a & bit) != 0) sum ^= b;
  return sum;
}

/// x^(2^n).
constexpr auto kSquares = [] {
  std::array<std::uint32_t, 67> squares{};
  squares[0] = 1u << 30;
  for (std::size_t n = 1; n < squares.size(); ++n) squares[n] = product(squares[n - 1], squares[n - 1]);
  return squares;
}();

/// x^(8 bytes): what `bytes` zero bytes after it multiply a checksum by.
constexpr std::uint32_t shift_by(std::uint64_t bytes) {
  std::uint32_t power = 1u << 31;
  for (std::size_t n = 3; bytes != 0; bytes >>= 1, ++n)
    if ((bytes & 1) != 0) power = product(kSquares[n], power);
  return power;
}

/// tables[k][b]: byte b followed by k zero bytes.
constexpr auto kTables = [] {
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) crc = times_x(crc);
    tables[0][b] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k)
    for (std::size_t b = 0; b < 256; ++b) tables[k][b] = (tables[k - 1][b] >> 8) ^ tables[0][tables[k - 1][b] & 0xFF];
  return tables;
}();

std::uint64_t load8(const std::byte* p) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t word = 0;
  std::memcpy(&word, p, 8);
  return word;
}

// What an instruction adds to a checksum. Both kinds of processor have had it for more than ten years, and the compiler
// may not take it for granted: the functions that use it are compiled for it, and called where it is there.
#if defined(__x86_64__)
#define HEADRACE_CRC_INSTRUCTION __attribute__((target("sse4.2,crc32")))
HEADRACE_CRC_INSTRUCTION inline std::uint64_t add8(std::uint64_t crc, std::uint64_t word) {
  return _mm_crc32_u64(crc, word);
}
HEADRACE_CRC_INSTRUCTION inline std::uint32_t add1(std::uint32_t crc, std::byte byte) {
  return _mm_crc32_u8(crc, static_cast<unsigned char>(byte));
}
bool has_instruction() {
  return __builtin_cpu_supports("sse4.2") != 0;
}
#elif defined(__aarch64__)
#define HEADRACE_CRC_INSTRUCTION __attribute__((target("+crc")))
HEADRACE_CRC_INSTRUCTION inline std::uint64_t add8(std::uint64_t crc, std::uint64_t word) {
  return __crc32cd(static_cast<std::uint32_t>(crc), word);
}
HEADRACE_CRC_INSTRUCTION inline std::uint32_t add1(std::uint32_t crc, std::byte byte) {
  return __crc32cb(crc, static_cast<std::uint8_t>(byte));
}
bool has_instruction() {
  return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
}
#endif

#ifdef HEADRACE_CRC_INSTRUCTION
// The instruction takes three cycles but starts every cycle: three lanes run side by side and are joined.
constexpr std::size_t kLaneBytes = 8192;

HEADRACE_CRC_INSTRUCTION std::uint32_t crc32c_hardware(std::span<const std::byte> data, std::uint32_t before) {
  constexpr std::uint32_t kOneLane = shift_by(kLaneBytes), kTwoLanes = shift_by(2 * kLaneBytes);
  std::uint64_t crc = ~before;
  const std::byte* p = data.data();
  std::size_t left = data.size();
  for (; left >= 3 * kLaneBytes; left -= 3 * kLaneBytes, p += 3 * kLaneBytes) {
    std::uint64_t second = 0, third = 0;
    for (std::size_t i = 0; i < kLaneBytes; i += 8) {
      crc = add8(crc, load8(p + i));
      second = add8(second, load8(p + kLaneBytes + i));
      third = add8(third, load8(p + 2 * kLaneBytes + i));
    }
    crc = product(kTwoLanes, static_cast<std::uint32_t>(crc)) ^ product(kOneLane, static_cast<std::uint32_t>(second)) ^
          third;
  }
  for (; left >= 8; left -= 8, p += 8) crc = add8(crc, load8(p));
  auto word = static_cast<std::uint32_t>(crc);
  for (; left != 0; --left, ++p) word = add1(word, *p);
  return ~word;
}
#endif

}  // namespace

std::uint32_t crc32c_portable(std::span<const std::byte> data, std::uint32_t before) {
  std::uint32_t crc = ~before;
  const std::byte* p = data.data();
  std::size_t left = data.size();
  for (; left >= 8; left -= 8, p += 8) {
    const std::uint64_t word = load8(p) ^ crc;
    crc = 0;
    for (std::size_t k = 0; k < 8; ++k) crc ^= kTables[7 - k][(word >> (8 * k)) & 0xFF];
  }
  for (; left != 0; --left, ++p) crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<std::uint32_t>(*p)) & 0xFF];
  return ~crc;
}

std::uint32_t crc32c(std::span<const std::byte> data, std::uint32_t before) {
#ifdef HEADRACE_CRC_INSTRUCTION
  static const bool hardware = has_instruction();
  if (hardware) return crc32c_hardware(data, before);
#endif
  return crc32c_portable(data, before);
}

std::uint32_t crc32c_combine(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes) {
  thread_local std::uint64_t last_bytes = 0;  // the pieces of a file have one size, mostly
  thread_local std::uint32_t last_shift = shift_by(0);
  if (second_bytes != last_bytes) {
    last_shift = shift_by(second_bytes);
    last_bytes = second_bytes;
  }
  return product(last_shift, first) ^ second;
}

}  // namespace headrace
