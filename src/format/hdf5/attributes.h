// Small attributes as text, for people (units, descriptions) and for hints about layout.
#pragma once

#include <map>
#include <string>

#include "format/hdf5/session.h"

namespace headrace::hdf5 {

/// Scalars, strings and arrays of up to 16 numbers or strings as text: "GeV", "1.5", "[0, 10]", "true". Others, and any
/// that cannot be read, are left out; so are HDF5's own of dimension scales, and variable-length text, which
/// heap_texts() reads. At most 64.
std::map<std::string, std::string> attribute_texts(const Session&, hid_t object);

}  // namespace headrace::hdf5
