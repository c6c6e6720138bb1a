// Units of length and time, as OME-NGFF spells them: how many of one another one is.
#pragma once

#include <optional>
#include <string_view>

namespace headrace {

/// Return how many `to` one `from` is: 1000 for "micrometer" and "nanometer", 1 for equal texts, known or not. Knows
/// the lengths and times of OME-NGFF 0.4 and 0.5, and "nm", "um" and "µm". Return nullopt for others that differ, and
/// for a length and a time.
std::optional<double> unit_ratio(std::string_view from, std::string_view to);

}  // namespace headrace
