// Attributes of an object: units, descriptions, how values are packed.
//
// Read by ourselves: H5Aiterate of HDF5 1.10 crashes where one of several attributes is damaged.
#pragma once

#include <headrace/attribute.h>

#include <vector>

#include "format/hdf5/structure/heap_text.h"
#include "format/hdf5/structure/object_header.h"

namespace headrace::hdf5 {

/// Return an object's attributes, those in its header and those outside ("dense" storage, of objects with many):
/// scalars, texts, and lists of numbers or texts. What else there is has its reason in `left_out`; HDF5's own
/// attributes of dimension scales are in neither.
/// \param heaps  Of the file, for all its objects: it bounds what their texts may read.
/// Errors: those of reading; what is damaged is left out. Blocks: reads of the file, for what lies outside the header.
Result<Attributes> read_attributes(const RandomAccessFile& file, const Superblock& superblock,
                                   const std::vector<HeaderMessage>& messages, HeapTexts& heaps);

/// Return true if the object is a dimension of a netCDF-4 file that has no values (netCDF-C names it so).
bool is_bare_dimension(const std::vector<HeaderMessage>& messages);

}  // namespace headrace::hdf5
