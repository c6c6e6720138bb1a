#include <blosc.h>
#include <fmt/format.h>
#include <headrace/tools/tools.h>
#include <hwy/base.h>
#include <hwy/targets.h>
#include <libdeflate.h>
#include <lz4.h>
#include <zstd.h>

#include "format/hdf5/session.h"

namespace headrace {
namespace {

std::string hdf5_version() {
  const hdf5::Session session;
  return hdf5::library_version(session);
}

/// What this processor has of what Highway was built for, best first.
std::string simd_targets() {
  std::string text;
  for (std::int64_t left = hwy::SupportedTargets() & ~HWY_SCALAR; left != 0; left &= left - 1) {
    const std::int64_t target = left & -left;  // a lower bit is a better target
    text += (text.empty() ? "" : " ") + std::string(hwy::TargetName(target));
  }
  return text;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> versions() {
  return {
      {"headrace", HEADRACE_VERSION},
      {"libhdf5", hdf5_version()},
      {"libdeflate", LIBDEFLATE_VERSION_STRING},
      {"zstd", ZSTD_versionString()},
      {"lz4", LZ4_versionString()},
      {"c-blosc", blosc_get_version_string()},
      {"SIMD targets here", simd_targets()},
      {"compiler",
#if defined(__clang__)
       "clang " __clang_version__
#else
       "gcc " __VERSION__
#endif
      },
  };
}

}  // namespace headrace
