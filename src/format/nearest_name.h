// Names for "did you mean": all there are, the most alike first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headrace {

/// `names` ordered by edit distance to `wanted`, ties as given. The last part of a path counts as much as the whole.
/// Time: sum of len(name) · len(wanted); names beyond 256 characters compare by their first 256.
std::vector<std::string> nearest_first(std::string_view wanted, std::vector<std::string> names);

/// "a, b, c and 12 more", at most `shown` names.
std::string list_names(const std::vector<std::string>& names, std::size_t shown = 12);

}  // namespace headrace
