#include <headrace/tools.h>

#include "codec/library_versions.h"
#include "format/library_versions.h"

namespace headrace {

std::vector<std::pair<std::string, std::string>> versions() {
  std::vector<std::pair<std::string, std::string>> all{{"headrace", HEADRACE_VERSION}};
  for (const auto& libraries : {format_library_versions(), codec_library_versions()})
    all.insert(all.end(), libraries.begin(), libraries.end());
#if defined(__clang__)
  all.emplace_back("compiler", "clang " __clang_version__);
#else
  all.emplace_back("compiler", "gcc " __VERSION__);
#endif
  return all;
}

}  // namespace headrace
