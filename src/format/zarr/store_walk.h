// The tree of a Zarr store: which directories are arrays.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "format/zarr/array_metadata.h"
#include "format/zarr/multiscales.h"
#include "storage/random_access_file.h"

namespace headrace::zarr {

/// An array that was found.
struct FoundArray {
  std::string path;                              ///< In the store: "em/s0".
  std::string directory;                         ///< On the disk.
  std::shared_ptr<const RandomAccessFile> file;  ///< Its ".zarray" or "zarr.json".
  Result<ArrayMetadata> metadata;                ///< Or why it is none that can be read.
};

struct FoundStore {
  std::shared_ptr<RandomAccessFile> file;  ///< What describes its root.
  std::uint32_t version = 2;
  Json attributes;                 ///< What the root says of itself.
  std::vector<FoundArray> arrays;  ///< By path.
  std::vector<Image> images;       ///< Groups with several voxel sizes.
};

/// Return whether a directory is a store, or a group or an array of one: it has a ".zarray", a ".zgroup" or a
/// "zarr.json". Blocks: looks at three names.
bool is_store(const std::string& directory);

/// Walk over a store. Directories of chunks are not listed, links are followed but never into a directory that they
/// lie in. What consolidated metadata says is not used: it may be older than the arrays.
/// Errors: kUnsupported  a draft of v3; those of reading. Blocks: reads the metadata of every array.
Result<FoundStore> walk_store(const std::string& directory);

/// Return what a directory is that is no store and yet known: "an N5 container"; empty: nothing is known of it.
std::string known_directory(const std::string& directory);

}  // namespace headrace::zarr
