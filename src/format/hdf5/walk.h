// The walk over a file: every dataset in every group, each once.
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "catalog/array_info.h"
#include "format/format_reader.h"
#include "format/hdf5/file_state.h"

namespace headrace::hdf5 {

/// Identity of an object in a file, whatever path leads to it.
using ObjectKey = std::array<unsigned char, 16>;

struct Walked {
  std::vector<ArrayInfo> arrays;               ///< Sorted by path.
  std::map<ObjectKey, std::size_t> by_object;  ///< Index in arrays.
  /// Paths that are no readable arrays, and why: scalars, external links, damaged objects. The damaged ones also stand
  /// in `arrays`, with shape (0) and read path kUnsupported, so that nothing disappears from sight.
  std::map<std::string, Error> refused;
  std::vector<LeftOut> passed_over;  ///< Those of `refused` that are not in `arrays`; the first hundred.
  Attributes attributes;             ///< Those of the root group.
  bool groups_sound = true;          ///< No group was damaged: libhdf5 may look up any path.
};

/// Walk a file. Hard links are followed, each object listed under its shallowest path (then the first by name), so
/// cycles end. Soft links are other names of what is listed; external and user-defined links are never followed.
/// Errors: kUnsupported for more than 10^6 objects; the cause where nothing at all can be read.
Result<Walked> walk_file(const LibraryLock&, FileState& state);

/// Find the object that a path leads to, also through soft links; nullopt if there is none.
std::optional<ObjectKey> find_object(const LibraryLock&, FileState& state, const std::string& path);

/// A dataset whose header, and those of the groups on the way to it, libhdf5 reads without harm.
struct CheckedDataset {
  std::string path;  ///< Without a leading slash; soft links are resolved.
  std::uint64_t header_address = 0;
};

/// Find a dataset by path and check what has to be read for it. For files that are not walked over.
/// \param checked  Addresses of the groups' headers that were found sound in earlier calls, which need not be again:
/// datasets of one group would cost as much as the group each. Those that this call checks join them.
/// Errors: kNotFound; kUnsupported for links out of the file; kCorruptData; those of reading.
Result<CheckedDataset> find_checked(const LibraryLock&, FileState& state, const std::string& path,
                                    std::set<std::uint64_t>& checked);

/// Open a dataset by path without ever leaving the file.
Id open_dataset(const LibraryLock&, FileState& state, const std::string& path);

}  // namespace headrace::hdf5
