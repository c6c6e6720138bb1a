// The text of a cache directory's manifest.json: JSON whose last line is the checksum of what stands before it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace headrace {

struct ManifestText {
  static constexpr const char* kFileName = "manifest.json";
  static constexpr std::string_view kFormat = "headrace-cache";
  static constexpr int kFormatVersion = 1;
  static constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 20;

  /// Return a text as a JSON string, with its quotes.
  static std::string quoted(std::string_view text);
  /// Return the text of a JSON object, with its checksum. \param text  Of the object, up to its last value.
  static std::string sealed(std::string text);
  /// Return the object, whose checksum, nesting, "format" and "format_version" have been checked, and nothing else.
  /// Errors: kCorruptData; kUnsupported: another version.
  static Result<nlohmann::ordered_json> read(std::string_view text);
};

/// Return true for a plain name of a file in the same folder: no path, not hidden.
bool is_plain_file_name(std::string_view name);

}  // namespace headrace
