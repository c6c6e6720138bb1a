// The counterpart of BitReader, for the encoders of tests: a bit at a time, so that it cannot be wrong in the same way.
#pragma once

#include "codec/codec_testing.h"

namespace headrace {

class BitWriter {
 public:
  void put(std::uint64_t value, unsigned bits) {
    while (bits-- > 0) {
      if (count_ % 8 == 0) bytes_.push_back(std::byte{0});
      if ((value >> bits & 1) != 0) bytes_.back() |= std::byte{static_cast<std::uint8_t>(0x80u >> count_ % 8)};
      ++count_;
    }
  }
  [[nodiscard]] const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_;
  std::size_t count_ = 0;
};

/// The lowest `size` bytes of a number in memory, most significant first if `big_endian`.
inline void put_number(Bytes& out, std::uint64_t value, std::size_t size, bool big_endian) {
  for (std::size_t i = 0; i < size; ++i)
    out.push_back(static_cast<std::byte>(value >> 8 * (big_endian ? size - 1 - i : i)));
}

}  // namespace headrace
