// All objects of an HDF5 file again in a new one: groups, links, attributes, and every dataset but those that the
// caller stores in another way.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/hdf5/library_lock.h"

namespace headrace::hdf5 {

/// What a copy did.
struct CopiedObjects {
  std::vector<std::string> datasets;  ///< Copied by libhdf5 as they are stored; their paths, without a leading slash.
  std::vector<std::string> notes;     ///< What the user should know, in sentences.
};

/// Make the dataset of `path` in the new file in another way, and return it open. \param place  Where to make it: the
/// name that comes first in the file; equal to `path` but for datasets of several names. \param source  The dataset.
using MakeDataset = std::function<Result<Id>(const std::string& path, const std::string& place, hid_t source)>;

/// Copy all objects of the open file `from` into the open, empty file `to`. Hard links to one object stay links to one
/// object, soft and external links stay as they are, references are translated. \param remade  Paths of the datasets
/// that `make` makes; their attributes are copied here.
/// Errors: kUnsupported  user-defined links, references of HDF5 1.12's new kind; kCorruptData; what `make` returns.
Result<CopiedObjects> copy_objects(const LibraryLock&, hid_t from, hid_t to, const std::vector<std::string>& remade,
                                   const MakeDataset& make);

/// Compare the dataset at `path`, which libhdf5 copied, and its attributes, with those of the source: bit for bit.
/// Data behind pointers are compared too, and references by the path of their target. `dataset` false: attributes only.
/// \return Empty if they are equal, else what differs: "rows 0 to 511", "attribute 'units'". Errors: kCorruptData  what
/// libhdf5 cannot read.
Result<std::string> compare_object(const LibraryLock&, hid_t from, hid_t to, const std::string& path, bool dataset);

/// Return a new property list of a group, as that of `group`: how links and attributes are ordered.
Id group_list_like(const LibraryLock&, hid_t group, hid_t list_class);

}  // namespace headrace::hdf5
