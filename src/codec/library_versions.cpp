#include "codec/library_versions.h"

#include <hwy/base.h>
#include <hwy/targets.h>
#include <libdeflate.h>
#include <lz4.h>
#include <zstd.h>

#include <cstdint>

namespace headrace {
namespace {

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

std::vector<std::pair<std::string, std::string>> codec_library_versions() {
  std::vector<std::pair<std::string, std::string>> all{
      {"libdeflate", LIBDEFLATE_VERSION_STRING}, {"zstd", ZSTD_versionString()}, {"lz4", LZ4_versionString()}};
  if (std::string version = blosc_version(); !version.empty()) all.emplace_back("c-blosc", std::move(version));
  all.emplace_back("SIMD targets here", simd_targets());
  return all;
}

}  // namespace headrace
