// Tells which numbers NumPy can take as stored, and to which native type libhdf5 converts the others.
#pragma once

#include <string>

#include "catalog/array_info.h"
#include "format/hdf5/library_lock.h"

namespace headrace::hdf5 {

/// Return why libhdf5 must convert this number (integer, bit field, float or enum): unusual size, padding or float
/// format. Empty for what we read ourselves in either byte order.
std::string why_convert(hid_t number);

/// Return true if there is a native number for it that libhdf5 can convert to: integers up to 8 bytes, floats up to 16
/// whose leading bit of the mantissa is implied or absent (H5T_NORM_IMPLIED, H5T_NORM_NONE).
bool convertible(hid_t number);

/// Return kInt, kUInt or kFloat; kBool for h5py's enum FALSE, TRUE of one byte.
DType::Kind number_kind(hid_t number);

/// Return the type of one part if `compound` is a complex number as h5py writes it: members r and i, both float of 4 or
/// 8 bytes, and nothing else. Not ok() otherwise.
Id complex_part(hid_t compound);

/// Return a packed compound type with the same members in native types, none narrower than stored; integers keep their
/// byte order. Not ok() if there is none.
Id memory_type(hid_t type);

}  // namespace headrace::hdf5
