// Many arrays on one screen: those whose paths differ in numbers only are one line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalog/array_info.h"

namespace headrace {

/// Return the path with every number in it as '*': "data/demo_12/actions" is "data/demo_*/actions".
std::string path_pattern(std::string_view path);

/// Return the arrays as lines for an error, each after a line break and two spaces: "x (500, 3)" for a single array,
/// and "data/demo_*/actions: 200 arrays of 5 to 39 rows, the first data/demo_0/actions (17, 7)" for those of one
/// pattern. At most twenty lines; a last one counts the patterns that are not shown.
std::string array_lines(const std::vector<const ArrayInfo*>& arrays);

/// Return true if some pattern has so many arrays that each of them may be a sample, or a recording.
bool is_array_for_each_sample(const std::vector<const ArrayInfo*>& arrays);

}  // namespace headrace
