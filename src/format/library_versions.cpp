#include "format/library_versions.h"

#include "format/hdf5/hdf5_reader.h"

namespace headrace {

std::vector<std::pair<std::string, std::string>> format_library_versions() {
  std::vector<std::pair<std::string, std::string>> all;
  if (std::string version = hdf5::version_text(); !version.empty()) all.emplace_back("libhdf5", std::move(version));
  return all;
}

}  // namespace headrace
