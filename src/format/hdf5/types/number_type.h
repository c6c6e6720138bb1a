// From our description of an array to an HDF5 datatype: element_type.h the other way round.
#pragma once

#include "catalog/array_info.h"
#include "format/hdf5/library_lock.h"

#include "base/result.h"

namespace headrace::hdf5 {

/// Return the datatype that h5py gives such an array: numbers in native byte order, bool as an enumeration, complex
/// numbers and records as compounds, text of a fixed length padded with zeros.
/// Errors: kUnsupported  no such type.
Result<Id> type_of_columns(const LibraryLock&, const ArrayInfo& array);

}  // namespace headrace::hdf5
