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

/// Text of fixed length that is not padded with NULs, inside an element: `count` texts, touching, each `width` bytes.
struct TextRun {
  std::uint64_t offset = 0, count = 1;
  std::uint32_t width = 1;
  /// True: trailing spaces are padding (H5T_STR_SPACEPAD, as Fortran writes). False: the text ends at its first NUL,
  /// whatever lies behind it (H5T_STR_NULLTERM, as C writes: a buffer holds old bytes there).
  bool spaces = false;
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
  std::vector<SwapRun> swaps;     ///< Empty for native order, and where memory_type is set.
  std::vector<LeftOut> left_out;  ///< Members that cannot be delivered, by their paths, and why.
  std::vector<TextRun> texts;     ///< What decode() pads with NULs instead. Empty where memory_type is set.
  bool is_record = false;
  ReadPath path = ReadPath::kNative;
  std::string reason;
  /// Set where libhdf5 must convert (path kConverted): what it converts to and from. Use under a LibraryLock only.
  Id memory_type, stored_type;

  /// Return true if decode() changes no byte of an element that needs no conversion by libhdf5.
  [[nodiscard]] bool is_native() const { return swaps.empty() && texts.empty(); }
  /// Return true if the only swap is of every number of the element: plain big-endian arrays.
  [[nodiscard]] bool swaps_whole() const {
    return swaps.size() == 1 && swaps[0].offset == 0 && swaps[0].count * swaps[0].width == record_bytes;
  }
};

/// Describe a datatype. Never fails: what cannot be read has path kUnsupported and the reason.
ElementType describe_type(const LibraryLock&, hid_t type);

}  // namespace headrace::hdf5
