// Packed values: numbers that are stored as counts of a step, as netCDF files often do.
#pragma once

#include <headrace/attribute.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

/// How stored counts become values: count * scale + shift, and no value where the count is one of `missing`
/// (NetCDF Climate and Forecast Metadata Conventions, section 8.1, and its attributes _FillValue and missing_value).
struct Packing {
  double scale = 1, shift = 0;
  std::vector<double> missing;
};

/// Return the packing that an array's attributes describe; nullopt if they have neither scale_factor nor add_offset.
std::optional<Packing> packing_of(const Attributes& attributes);

/// Return the transform that undoes a packing, as Python text: "T.Affine('x', scale=0.01, shift=273.15, missing=-1)".
std::string unpacking_text(std::string_view field, const Packing& packing);

}  // namespace headrace
