// Elements of one type to another, where a virtual dataset's differs from its source's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/result.h"
#include "format/hdf5/element_type.h"

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
  SourceConversion(Id from, Id to, bool is_record)
      : from_(std::move(from)), to_(std::move(to)), is_record_(is_record) {}
  ~SourceConversion();

  /// Convert `count` elements in place; the buffer holds that many of either type. Numbers that do not fit become the
  /// nearest that do, as in libhdf5. Errors: kCorruptData.
  Status convert(std::byte* buffer, std::uint64_t count) const;

 private:
  Id from_, to_;
  bool is_record_;  // members that the source lacks are zero
};

}  // namespace headrace::hdf5
