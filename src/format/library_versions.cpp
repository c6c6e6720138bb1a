#include "format/library_versions.h"

#include "format/hdf5/session.h"

namespace headrace {

std::vector<std::pair<std::string, std::string>> format_library_versions() {
  const hdf5::Session session;
  return {{"libhdf5", hdf5::library_version(session)}};
}

}  // namespace headrace
