// A 64-bit hash for names of caches: equal on every machine, and not meant to withstand an enemy. What it names is
// compared in full afterwards.
#pragma once

#include <cstdint>
#include <string_view>

namespace headrace {

/// Return FNV-1a, and a mixing of its bits (the end of SplitMix64).
constexpr std::uint64_t name_hash(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9u;
  hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EBu;
  return hash ^ (hash >> 31);
}

}  // namespace headrace
