// Datatype messages, checked before libhdf5 decodes them: 1.10 divides by the size of an array's base, copies enum
// values by a size that contradicts them, and converts members of one name past the record's end.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"

namespace headrace::hdf5 {

/// Check that sizes, members and dimensions of a datatype message agree (specification IV.A.2.d, versions 1 to 3; later
/// versions are left to the library). Errors: kCorruptData.
Status check_datatype(std::span<const std::byte> message);

}  // namespace headrace::hdf5
