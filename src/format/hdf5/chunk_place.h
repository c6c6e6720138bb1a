// Where one chunk lies.
#pragma once

#include <cstdint>

namespace headrace::hdf5 {

/// Place of one chunk. 24 bytes.
struct ChunkPlace {
  static constexpr std::uint64_t kAbsent = ~std::uint64_t{0};
  std::uint64_t address = kAbsent;  ///< In the file, user block included; kAbsent: never written, fill values.
  std::uint64_t size_bytes = 0;     ///< As stored.
  std::uint32_t filter_mask = 0;    ///< Bit i: filter i was skipped.
  [[nodiscard]] bool absent() const { return address == kAbsent; }
};

}  // namespace headrace::hdf5
