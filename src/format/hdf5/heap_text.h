// Variable-length text of attributes, read by ourselves.
//
// h5py writes every Python string as variable-length text, whose bytes lie in a global heap. libhdf5 1.10 follows sizes
// and indexes of a damaged heap out of its buffers; here they are checked.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "format/hdf5/object_header.h"

namespace headrace::hdf5 {

/// Attributes of an object that are variable-length text, scalars and up to 16 of them, as in attribute_texts().
/// Attributes that lie outside the header (more than eight of them, in the newer layouts) and damaged ones are left
/// out.
std::map<std::string, std::string> heap_texts(const RandomAccessFile& file, const Superblock& superblock,
                                              const std::vector<HeaderMessage>& messages);

}  // namespace headrace::hdf5
