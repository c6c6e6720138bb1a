// What a file is when it is not one we read: said by name, so that the user need not guess.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace headrace {

struct Sniffed {
  std::string what;  ///< "a Parquet file", "an HTML page"; empty if the bytes say nothing.
  std::string hint;  ///< What to do; may be empty.
};

/// \param head  The first bytes of the file, a few hundred are enough.
Sniffed sniff(std::span<const std::byte> head);

/// Return true if bytes begin as a zip archive does, an empty one included.
bool is_zip(std::span<const std::byte> head);

}  // namespace headrace
