// Which libraries decode, and their versions.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace headrace {

/// Return name and version of every library that the codecs of this build use, and the SIMD targets of this processor.
std::vector<std::pair<std::string, std::string>> codec_library_versions();

/// Return the version of c-blosc; empty in a build without it.
std::string blosc_version();

}  // namespace headrace
