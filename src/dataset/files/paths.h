// Paths as users write them: "~", globs, lists. One meaning for Python, C++, the command line and run files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace headrace {

/// List every file that `paths` mean, in the order of the data set.
///
/// "~" and "~user" are home directories. "*", "?" and "[a-z]" match inside one name, "**" any number of directories; a
/// leading dot must be written out. Links are followed, but not in circles. The files of one glob are ordered naturally
/// (f2 before f10); the list keeps its order. A path that exists as it stands is taken literally, whatever characters
/// it has. Directories are not files, and a glob passes over them, but for those that are opened as files are
/// (is_readable_directory()): Zarr stores and whole caches, which "**" does not enter.
/// Errors: kInvalidArgument  nothing given, a directory, one file meant twice (by its path; links are not followed);
/// kNotFound  no such file, or a glob without a match: lists what is there, nearest name first; kPermission  a
/// directory on the way may not be read.
Result<std::vector<std::string>> expand_paths(const std::vector<std::string>& paths);

/// Return a path with the home directory that "~" or "~user" at its begin means; as it is where there is none.
std::string expand_home(const std::string& path);

/// Return paths that mean the same in any folder.
std::vector<std::string> absolute_paths(const std::vector<std::string>& paths);

/// Return true if `a` comes before `b`: runs of digits compare as numbers, "/" before anything else.
bool natural_less(std::string_view a, std::string_view b);

/// Return true if `name` matches `pattern` with *, ?, [abc], [a-z], [!a]. Does not depend on the locale; ? is one
/// character.
bool glob_match(std::string_view pattern, std::string_view name);

}  // namespace headrace
