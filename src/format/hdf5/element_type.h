// From an HDF5 datatype to columns: what an element holds, where, and how its bytes become native ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "catalog/array_info.h"
#include "format/hdf5/library_lock.h"

namespace headrace::hdf5 {

/// Big-endian numbers inside an element: `count` of them, touching, each `width` bytes.
struct SwapRun {
  std::uint64_t offset = 0, count = 1;
  std::uint32_t width = 1;
};

/// A column, and the bytes from one entry to the next along each of its inner dimensions.
struct Leaf {
  Column column;
  std::vector<std::uint64_t> inner_strides_bytes;
};

struct ElementType {
  std::uint64_t record_bytes = 0;  ///< As decode() leaves an element: the stored size, or memory_type's.
  std::uint64_t stored_bytes = 0;  ///< As stored, before any conversion.
  std::vector<Leaf> leaves;
  std::vector<SwapRun> swaps;  ///< Empty for native order, and where memory_type is set.
  bool is_record = false;
  ReadPath path = ReadPath::kNative;
  std::string reason;
  /// Set where libhdf5 must convert (path kConverted): what it converts to and from. Use under a LibraryLock only.
  Id memory_type, stored_type;

  /// The only swap is of every number of the element: plain big-endian arrays.
  [[nodiscard]] bool swaps_whole() const {
    return swaps.size() == 1 && swaps[0].offset == 0 && swaps[0].count * swaps[0].width == record_bytes;
  }
};

/// Describe a datatype. Never fails: what cannot be read has path kUnsupported and the reason.
ElementType describe_type(const LibraryLock&, hid_t type);

}  // namespace headrace::hdf5
