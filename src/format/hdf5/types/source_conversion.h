// Elements of one type to another, where a virtual dataset's differs from its source's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "format/hdf5/types/element_conversion.h"
#include "format/hdf5/types/element_type.h"

namespace headrace::hdf5 {

/// A conversion by libhdf5, between elements as decode() leaves them.
/// Threads: any; one at a time in the process.
class SourceConversion {
 public:
  /// Return how elements of `from` become those of `to`; null if they are the same bytes.
  /// \param from_element, to_element  The types' descriptions. Errors: kUnsupported if libhdf5 knows no conversion.
  static Result<std::shared_ptr<const SourceConversion>> between(const LibraryLock&, hid_t from,
                                                                 const ElementType& from_element, hid_t to,
                                                                 const ElementType& to_element);
  SourceConversion(Id from, std::uint64_t from_bytes, Id to, std::uint64_t to_bytes)
      : from_(std::move(from)), to_(std::move(to)), conversion_{from_.get(), to_.get(), from_bytes, to_bytes} {}
  ~SourceConversion();

  SourceConversion(const SourceConversion&) = delete;
  SourceConversion& operator=(const SourceConversion&) = delete;

  /// Return the bytes that convert() needs in each of its two buffers for so many elements.
  [[nodiscard]] std::uint64_t scratch_bytes(std::uint64_t elements) const {
    return conversion_bytes(conversion_, elements);
  }
  /// Convert whole elements, a slice at a time. Numbers that do not fit become the nearest that do, as in libhdf5;
  /// members that the source lacks are zero. Errors, Blocks: as hdf5::convert().
  Status convert(std::span<const std::byte> in, std::span<std::byte> out, const CodecScratch& scratch) const {
    return hdf5::convert(conversion_, in, out, scratch);
  }

 private:
  Id from_, to_;
  Conversion conversion_;
};

}  // namespace headrace::hdf5
