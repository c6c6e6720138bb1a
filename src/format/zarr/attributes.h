// The JSON attributes of Zarr as ours.
#pragma once

#include <headrace/attribute.h>

#include "format/zarr/json.h"

namespace headrace::zarr {

/// Return numbers, texts and lists of them by name; what is nested is left out with its reason.
Attributes attributes_of(const Json& object);

}  // namespace headrace::zarr
