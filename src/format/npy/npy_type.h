// From a 'descr' of a .npy header to columns: what an element holds, where, and which of its numbers are big-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/array_info.h"
#include "format/npy/python_literal.h"

namespace headrace::npy {

/// Big-endian numbers of an element: `count` of them, touching, `width_bytes` each.
struct SwapRun {
  std::uint64_t offset_bytes = 0, count = 1;
  std::uint32_t width_bytes = 1;
};

struct NpyType {
  std::uint64_t record_bytes = 0;  ///< Bytes an element, padding included.
  std::vector<Column> columns;     ///< One for a plain array; one for each innermost member of a record.
  std::vector<SwapRun> swaps;      ///< Empty for native byte order.
  std::vector<LeftOut> left_out;   ///< Members of a record that cannot be delivered, and why.
  bool is_record = false;
  std::string refusal;      ///< Why values of this type cannot be delivered; empty if they can.
  std::string hint;         ///< What to do about it.
  bool no_numbers = false;  ///< It is refused since its elements are of a kind that is known, and no numbers.
};

/// Describe a type: a type string ("<f4", "|S5", ">i8") or a list of members (name, type[, shape]), nested records
/// included. What cannot be delivered (objects, text of code points, dates, long double, raw bytes, arrays of records
/// inside records) has a refusal; its size is right wherever the type string says it.
/// Errors: kCorruptData  no type at all.
Result<NpyType> parse_type(const Literal& descr);

/// Put whole elements into native byte order, in place.
void to_native(const NpyType& type, std::span<std::byte> elements);

}  // namespace headrace::npy
