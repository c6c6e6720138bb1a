// In place of codec/compression/blosc.cpp in a build without its library (HEADRACE_WITH_BLOSC=OFF).
#include "codec/codec.h"
#include "codec/library_versions.h"

namespace headrace {

Result<std::unique_ptr<Codec>> make_blosc(const FilterSpec& /*spec*/, const ChunkForm& /*form*/) {
  return Error(ErrorCode::kUnsupported,
               "this build is without blosc: install libblosc-dev and build with -DHEADRACE_WITH_BLOSC=ON");
}

std::string blosc_version() {
  return {};
}

}  // namespace headrace
