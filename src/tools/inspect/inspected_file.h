// What `inspect` knows of one file, and how two files differ.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/array_info.h"
#include "tools/json.h"

namespace headrace {

struct InspectedFile {
  std::string path;
  std::string format;
  std::uint64_t size_bytes = 0;
  std::vector<ArrayInfo> arrays;
  std::map<std::string, std::string> remedies;  ///< What to do about an array that cannot be read, by its path.
  std::optional<Error> error;                   ///< It could not be opened.
  bool lacks_chunks = false;                    ///< Some chunk files of an array are not there, and others are.
  std::vector<std::string> differences;         ///< From the first file that could be opened.
};

/// Return true if the bytes of a file that could not be opened are to blame: damaged, unreadable, or not of a known
/// format.
bool is_bad_file(ErrorCode code);

/// Read the metadata of one file; what befell it is in `error`.
InspectedFile inspect_file(const std::string& path);

/// Return where `file` is not like `first`, but for rows and sizes: arrays, types, row shapes, chunks, filters, read
/// paths.
std::vector<std::string> differences(const InspectedFile& first, const InspectedFile& file);

Json to_json(const InspectedFile& file);

}  // namespace headrace
