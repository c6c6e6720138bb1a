// ArrayInfo as bytes, for indexes that outlive the process.
#pragma once

#include "base/packed.h"
#include "catalog/array_info.h"

namespace headrace {

void pack(const ArrayInfo& info, PackedWriter& out);

/// Read what pack() wrote. What is returned means nothing unless in.ok().
ArrayInfo unpack_array_info(PackedReader& in);

void pack(const std::vector<LeftOut>& left_out, PackedWriter& out);
std::vector<LeftOut> unpack_left_out(PackedReader& in);

void pack(const Column& column, PackedWriter& out);
Column unpack_column(PackedReader& in);

}  // namespace headrace
