// Which samples belong together: those of one place along axes, or with an equal value of a field.
#pragma once

#include <headrace/dataset.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

/// Return the axis that counts samples which `by` is the number of; nullopt where it names a field, or something else.
std::optional<std::size_t> axis_of(const Dataset& data, const std::string& by);

/// Return the first sample of each place along the axes up to `axis`, of all samples, chosen or not, through all files,
/// and at the end their number. Throws kInvalidArgument where samples have no such axis.
/// \param argument  What errors begin with, such as "by=".
std::vector<std::uint64_t> places_along(const Dataset& data, std::size_t axis, std::string_view argument);

/// Groups of samples, numbered in the order of their first ones.
struct SampleGroups {
  std::vector<std::uint32_t> of_sample;
  std::vector<std::uint64_t> sizes;  ///< Samples of each group.
};

/// Find the groups of the samples of one place along axes (`by` is a number), or with an equal value of the field that
/// `by` names, which is read whole. Throws: kFieldMissing; kInvalidArgument; what reading throws; kCancelled: `go_on`
/// said so.
SampleGroups find_sample_groups(const Dataset& data, const std::string& by, const std::function<bool()>& go_on);

}  // namespace headrace
