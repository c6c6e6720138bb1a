// Elements from stored to native byte order, and elements that were never written.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"
#include "format/hdf5/types/element_type.h"

namespace headrace::hdf5 {

/// Put whole elements into native byte order and pad their text with NULs, in place.
void to_native(const ElementType& element, std::span<std::byte> elements);

/// Return the dataset's fill value as one native element; a single zero byte where the writer gave none.
/// Errors: kCorruptData.
Result<std::vector<std::byte>> fill_element(const LibraryLock&, hid_t creation_list, hid_t stored_type,
                                            const ElementType& element);

}  // namespace headrace::hdf5
