// manifest.json: what a whole cache holds and of which files it was made. Versioned; its last line is the checksum of
// what stands before it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cache/directory/cache_directory.h"
#include "format/npy/manifest_text.h"

namespace headrace {

struct CachedFile {
  std::string name;
  std::uint64_t size_bytes = 0;
  std::uint32_t crc32c = 0;  ///< Checksum of the whole file.
};

struct CacheManifest {
  static constexpr std::uint64_t kMostBytes = ManifestText::kMostBytes;
  static constexpr const char* kFileName = ManifestText::kFileName;
  static constexpr const char* kChecksumsName = "crc32c.npy";
  static constexpr const char* kBlocksName = "blocks.npy";

  std::string created;           ///< "2026-01-31T12:00:00Z"; to_json() fills it in where it is empty.
  RowLayout layout;              ///< Without block_starts where they lie in `blocks`.
  std::vector<CachedFile> data;  ///< One a field.
  CachedFile checksums;          ///< uint32 (fields, blocks).
  std::uint64_t num_blocks = 0, rows = 0;
  std::optional<CachedFile> blocks;  ///< uint64 (blocks + 1): the block starts, unless they follow from the files.
  std::vector<CacheSource> sources;  ///< Without device.
  std::string sample;                ///< sample_of() the sources; empty: not known.

  [[nodiscard]] std::string to_json() const;
  /// Read a manifest and check everything in it but what lies in other files. Errors: kCorruptData, kUnsupported:
  /// another version.
  static Result<CacheManifest> parse(std::string_view text);
};

/// Return the rows of the blocks of all files if they have one length, but for the last block of each file.
std::optional<std::uint64_t> uniform_block_rows(const RowLayout& layout, const std::vector<CacheSource>& sources);
/// Return the block starts that this means. \param num_blocks  As many are expected: nullopt if there are not.
std::optional<std::vector<std::uint64_t>> uniform_block_starts(std::uint64_t block_rows, std::uint64_t num_blocks,
                                                               const std::vector<CacheSource>& sources);

/// Return true if the cache holds these fields, under these names.
bool holds_fields(const CacheManifest& found, const RowLayout& layout);

/// Return what is different from what is wanted, in words ("it was made from other files: …"); nullopt if nothing is.
/// Sources are compared by base name, size, time of modification and rows. What else was touched is no difference:
/// difference_of() sees to that.
std::optional<std::string> describe_difference(const CacheManifest& found, const CacheOrigin& origin,
                                               const RowLayout& layout);
}  // namespace headrace
