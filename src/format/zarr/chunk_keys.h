// ChunkKeys: the names of chunks in a directory: "0.1.2", "0/1/2", "c/0/1/2".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::zarr {

struct ChunkKeys {
  bool has_prefix = false;  ///< "c" in front: Zarr v3's own encoding.
  char separator = '.';     ///< '.' or '/'.

  /// Return the name of the chunk at these coordinates, relative to the array's directory.
  [[nodiscard]] std::string key(const std::vector<std::uint64_t>& coordinates) const;
  /// Return the coordinates of a name; nullopt where it is none of `rank` axes. "00" is no number.
  [[nodiscard]] std::optional<std::vector<std::uint64_t>> parse(std::string_view name, std::size_t rank) const;
  /// Return an example for messages: "c/0/0/0".
  [[nodiscard]] std::string example(std::size_t rank) const { return key(std::vector<std::uint64_t>(rank, 0)); }
  /// Return the same names with the other separator.
  [[nodiscard]] ChunkKeys other() const { return {has_prefix, separator == '.' ? '/' : '.'}; }
};

}  // namespace headrace::zarr
