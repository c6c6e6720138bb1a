// In place of codec/compression/bzip2.cpp in a build without its library (HEADRACE_WITH_BZIP2=OFF).
#include "codec/codec.h"

namespace headrace {

Result<std::unique_ptr<Codec>> make_bzip2(const FilterSpec& /*spec*/, const ChunkForm& /*form*/) {
  return Error(ErrorCode::kUnsupported,
               "this build is without bzip2: install libbz2-dev and build with -DHEADRACE_WITH_BZIP2=ON");
}

}  // namespace headrace
