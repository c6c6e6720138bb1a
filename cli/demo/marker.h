// demo_jets.json beside the files: which options wrote them, so that the second `headrace demo` need not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "demo/jet_options.h"

namespace headrace::demo {

inline constexpr const char* kMarkerName = "demo_jets.json";

struct MarkedFile {
  std::string name;
  std::uint64_t bytes = 0;
};

struct Marker {
  std::string options;  ///< as options_text() gives it
  std::vector<MarkedFile> files;
};

/// Return everything that decides the bytes of the files, as JSON text.
std::string options_text(const JetOptions& options);

/// Read the marker of a directory; one without files where there is none or it cannot be understood.
Marker read_marker(const std::string& directory);

/// Errors: kWriteFailed, kPermission.
Status write_marker(const std::string& directory, const Marker& marker);

/// Do all files of the marker lie there with the sizes it says?
bool files_are_there(const std::string& directory, const Marker& marker);

}  // namespace headrace::demo
