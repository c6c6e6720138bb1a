// From values as they are stored to elements as they are delivered: narrow integers, decimals, INT96.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "format/parquet/leaf_column.h"

namespace headrace::parquet {

/// Write the elements of `count` stored values of a fixed size, one behind the other in `values`, to `out`.
/// \param values  column.value_bytes each; may overlap `out` only if both begin at the same byte.
/// Errors: kUnsupported  a time that the element cannot hold.
Status convert_values(const LeafColumn& column, const std::byte* values, std::size_t count, std::byte* out);

/// Write the element of one value of kByteArray. Errors: kCorruptData  a decimal of more bytes than can be held.
Status convert_bytes(const LeafColumn& column, std::span<const std::byte> value, std::byte* out);

}  // namespace headrace::parquet
