// "Did you mean …": names ordered by how like they are to what was written.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

/// Return the edits (insert, delete, replace a character, swap two neighbours) that turn one into the other; upper and
/// lower case count as equal, as do '-' and '_'.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Return all `candidates`, the nearest to `name` first; equally near ones keep their order. Of paths the last
/// parts are compared too: the smaller distance counts, and of equally near ones that of the whole paths.
std::vector<std::string> nearest_names(std::string_view name, std::span<const std::string> candidates);

/// Return the nearest candidate if it is near enough to be meant: at most a third of its characters differ, or one
/// holds the other.
std::optional<std::string> did_you_mean(std::string_view name, std::span<const std::string> candidates);

/// A known key that is not there, and one that is there, is like it, and is unknown: a damaged one, in all likelihood.
struct MisspeltKey {
  std::string missing, unknown;
};
/// Return the first of an object's keys that is a misspelt one; nullopt: none is.
std::optional<MisspeltKey> misspelt_key(std::span<const std::string> keys, std::span<const std::string_view> known);

/// Return the `names` as "a, b and 12 more".
std::string list_names(std::span<const std::string> names, std::size_t at_most = 12);

}  // namespace headrace
