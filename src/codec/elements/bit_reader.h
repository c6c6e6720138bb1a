// Numbers of any width out of a stream of bits whose first bit is the most significant one of its first byte, as in
// HDF5's scale-offset and n-bit filters.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "codec/coded_bytes.h"

namespace headrace {

class BitReader {
 public:
  explicit BitReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  /// Return the next `bits` bits, at most 64, as a number. Bits behind the end are 0: the caller has compared lengths.
  /// Memory: never reads outside the bytes.
  std::uint64_t take(unsigned bits) {
    assert(bits <= 64);
    if (bits > kAtOnce) {
      const std::uint64_t high = take(bits - 32);
      return high << 32 | take(32);
    }
    if (bits == 0) return 0;
    const std::size_t byte = at_ / 8;
    const std::uint64_t word = byte + 8 <= bytes_.size() ? load_be64(bytes_.data() + byte) : last_word(byte);
    const std::uint64_t value = word << at_ % 8 >> (64 - bits);
    at_ += bits;
    return value;
  }

 private:
  static constexpr unsigned kAtOnce = 57;  // what 8 bytes hold behind up to 7 bits that are gone

  [[nodiscard]] std::uint64_t last_word(std::size_t byte) const {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < 8; ++i, ++byte)
      word = word << 8 | (byte < bytes_.size() ? std::to_integer<std::uint64_t>(bytes_[byte]) : 0);
    return word;
  }

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;  // in bits
};

}  // namespace headrace
