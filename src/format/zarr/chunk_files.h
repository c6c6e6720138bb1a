// The files of an array's chunks, as they lie in its directory.
#pragma once

#include <string>
#include <vector>

#include "format/format_reader.h"
#include "format/zarr/chunk_keys.h"

namespace headrace::zarr {

/// Return the coordinates of all files that are named as chunks, in any order. Blocks: lists the directories.
/// Errors: kPermission, kReadFailed.
Result<std::vector<std::vector<std::uint64_t>>> list_chunk_files(const std::string& directory, const ChunkKeys& keys,
                                                                 std::size_t rank);

/// Return the directories that chunks lie in, with the time at which an entry of each was last made, renamed or
/// removed, as a store's writers do with every chunk. Blocks: lists all of them but the last ones.
std::vector<OutsideFile> chunk_directories(const std::string& directory, const ChunkKeys& keys, std::size_t rank);

/// Refuse an array none of whose chunks has a name as its metadata says, while there are such with the other
/// separator: all of it would be fill values. Errors: kCorruptData.
Status check_separator(const std::string& directory, const ChunkKeys& keys, std::size_t rank);

}  // namespace headrace::zarr
