// In place of codec/compression/szip.cpp in a build without its library (HEADRACE_WITH_SZIP=OFF).
#include "codec/codec.h"

namespace headrace {

Result<std::unique_ptr<Codec>> make_szip(const FilterSpec& /*spec*/, const ChunkForm& /*form*/) {
  return Error(ErrorCode::kUnsupported,
               "this build is without szip: install libaec-dev and build with -DHEADRACE_WITH_SZIP=ON");
}

}  // namespace headrace
