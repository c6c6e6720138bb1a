// Small attributes as text, for people (units, descriptions) and for hints about layout.
//
// Read from the object header by ourselves: H5Aiterate of HDF5 1.10 crashes where one of several attributes is damaged.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "format/hdf5/heap_text.h"
#include "format/hdf5/object_header.h"

namespace headrace::hdf5 {

/// Scalars, strings and lists of up to 16 numbers or strings as text: "GeV", "1.5", "[0, 10]", "true". Left out:
/// others, damaged ones, HDF5's own of dimension scales, and attributes outside the header (more than eight, in the
/// newer layouts). At most 64, of the first thousand.
/// \param heaps  Of the file, for all its objects: it bounds what their texts may read.
std::map<std::string, std::string> attribute_texts(const Superblock& superblock,
                                                   const std::vector<HeaderMessage>& messages, HeapTexts& heaps);

}  // namespace headrace::hdf5
