// LeftOut: something in a file that is no field, and why.
#pragma once

#include <string>

namespace headrace {

/// An array of the files, or something else under a name there, that is no field.
struct LeftOut {
  std::string path;       ///< Path in the file.
  std::string reason;     ///< Why it is no field, for example "a scalar, which has no rows".
  std::string hint = {};  ///< What to do about it; may be empty.
  /// True if something of it is damaged, or of a kind that this version does not know: else it is known not to be a
  /// field.
  bool is_unknown = false;
  /// True if both are equal.
  friend bool operator==(const LeftOut&, const LeftOut&) = default;
};

}  // namespace headrace
