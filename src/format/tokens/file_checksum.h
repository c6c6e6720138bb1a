// Checksums of the files that token folders have: CRC-32C (RFC 3720) of all their bytes, in the manifest.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace headrace::token_files {

/// A file, and what its bytes must come to.
struct FileChecksum {
  std::string path;
  std::uint32_t crc32c = 0;
};

/// Called with the number of bytes that were read since the last call; false ends with kCancelled. May be empty.
using GoOn = std::function<bool(std::uint64_t bytes)>;

/// Return the checksum of the bytes [offset, offset + size) of a file, read from its start to its end.
/// Errors: those of opening and reading, such as that it is shorter; kCancelled.
Result<std::uint32_t> crc32c_of(const std::string& path, std::uint64_t offset, std::uint64_t size_bytes,
                                const GoOn& go_on = {});

/// Compare a whole file with its checksum. Errors: kCorruptData  it has another; those of crc32c_of().
Status check_file(const FileChecksum& file, const GoOn& go_on = {});

/// Make the error for a file whose bytes have changed since they were written.
Error bytes_changed(const std::string& path, std::uint32_t found, std::uint32_t expected);

}  // namespace headrace::token_files
