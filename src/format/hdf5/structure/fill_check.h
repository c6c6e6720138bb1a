// Fill values, checked before libhdf5 copies them: 1.10 takes as many bytes of one as an element has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"

namespace headrace::hdf5 {

/// Check that the fill value in a message (specification IV.A.2.e, and .f for the newer one) lies within it and is as
/// large as an element, as writers convert it. A message that gives no value passes.
/// \param is_old  The message is of the older type, 0x04.
/// \param element_bytes  Of the stored datatype; nullopt if it is not known.
/// Errors: kCorruptData; kUnsupported where the element's size is not known.
Status check_fill_value(std::span<const std::byte> message, bool is_old, std::optional<std::uint64_t> element_bytes);

}  // namespace headrace::hdf5
