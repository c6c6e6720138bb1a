// The directory of a zip archive (PKWARE's APPNOTE.TXT 6.3.10, sections 4.3 and 4.5): which members it has, and where
// their stored bytes lie. As much of it as .npz files need: one disk, no encryption, ZIP64.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "storage/random_access_file.h"

namespace headrace::npy {

struct ZipMember {
  std::string name;
  ByteRange stored;  ///< Inside the archive, checked to lie there.
  std::uint64_t decoded_bytes = 0;
  std::uint32_t crc32 = 0;   ///< Checksum of the decoded bytes.
  std::uint16_t method = 0;  ///< 0: stored as it is; 8: deflate.
  bool encrypted = false;
};

/// Read the directory, and each member's own header, which says where its bytes begin.
/// Errors: kCorruptData  truncated, damaged, or two members of one name; kUnsupported  an archive of several files;
/// those of reading.
Result<std::vector<ZipMember>> read_zip_directory(const RandomAccessFile& file);

}  // namespace headrace::npy
