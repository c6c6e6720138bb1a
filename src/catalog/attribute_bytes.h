// Attributes as bytes, and back.
#pragma once

#include <headrace/attribute.h>

#include "base/packed.h"

namespace headrace {

void pack(const Attributes& attributes, PackedWriter& out);
/// Return what pack() wrote; in.ok() is false if the bytes make no sense.
Attributes unpack_attributes(PackedReader& in);

}  // namespace headrace
