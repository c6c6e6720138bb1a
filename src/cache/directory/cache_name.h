// Names of caches: "<stem of the first source>-<key>", and those of caches that are being built.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cache/directory/cache_directory.h"

namespace headrace {

/// Return a hash of everything that a cache must be made of to be used: the format's version, fields, blocks, and of
/// each source its base name, size, time of modification, files (of a directory) and rows. Not its folder, device and
/// inode: files that are mounted elsewhere, or copied with their times, are the same.
std::uint64_t cache_key(const CacheOrigin& origin, const RowLayout& layout);
/// Return a hash of what else tells that a source was touched: its inode and its time of change. A build that was begun
/// with another hash is not continued.
std::uint64_t touch_key(const CacheOrigin& origin);
std::string cache_name(const CacheOrigin& origin, std::uint64_t key);

/// What a name in a cache directory says.
struct CacheName {
  std::string stem, key;
  bool building = false;   ///< "….building", perhaps followed by whose.
  bool preparing = false;  ///< "….building.123-0": not yet made, or left behind.
};
/// Read a cache's name; false for what is none.
bool parse_cache_name(std::string_view text, CacheName& out);

}  // namespace headrace
