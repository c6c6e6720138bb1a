// What a RowLayout (row_store.h) means in bytes and words.
#pragma once

#include <headrace/error.h>

#include <cstdint>
#include <string>

#include "cache/row_store.h"

namespace headrace {

/// Errors: kInvalidArgument: no fields, equal names, blocks that do not ascend from 0, sizes past 2^62.
Status check_row_layout(const RowLayout& layout);

/// Return where a block's rows lie among a field's bytes, from its row 0.
ByteRange block_bytes(const RowLayout& layout, std::size_t field, std::uint64_t block);

/// Return all of a layout as text: equal for equal layouts only. Names every field's path too, for the same name may be
/// given to another array.
std::string layout_text(const RowLayout& layout);

/// Return "rows [128, 256)".
std::string rows_text(const RowLayout& layout, std::uint64_t block);

}  // namespace headrace
