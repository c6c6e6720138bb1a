// Elements of any HDF5 type as libhdf5 leaves them in memory: the references in them, and whether two are equal.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/result.h"
#include "format/hdf5/library_lock.h"

namespace headrace::hdf5 {

/// Elements in memory, with what their variable-length parts point to, which goes with them.
class Values {
 public:
  /// \param stored  Datatype of a dataset or attribute.  \param space  Of the elements.
  Values(const LibraryLock&, hid_t stored, hid_t space);
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;
  ~Values();

  /// Return the type to read and write with: as stored, so that no number is converted.
  [[nodiscard]] hid_t type() const { return type_.get(); }
  [[nodiscard]] std::byte* data() { return bytes_.data(); }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] std::size_t element_bytes() const { return element_bytes_; }

 private:
  Id type_, space_;
  std::size_t count_ = 0, element_bytes_ = 0;
  std::vector<std::byte> bytes_;
};

/// Return true if elements of the type hold references, at any depth.
bool holds_references(hid_t type);

/// Call `visit(type, reference)` for each reference in an element, at any depth; stops with its first error.
Status visit_references(hid_t type, std::byte* element, const std::function<Status(hid_t, std::byte*)>& visit);

/// Return true if two elements are equal: bit for bit, what they point to compared, references by `same_reference`.
bool equal_elements(hid_t type, const std::byte* a, const std::byte* b,
                    const std::function<bool(hid_t, const std::byte*, const std::byte*)>& same_reference);

}  // namespace headrace::hdf5
