// In place of codec/compression/snappy.cpp in a build without its library (HEADRACE_WITH_SNAPPY=OFF).
#include "codec/codec.h"

namespace headrace {

Result<std::unique_ptr<Codec>> make_snappy(const FilterSpec& /*spec*/, const ChunkForm& /*form*/) {
  return Error(ErrorCode::kUnsupported,
               "this build is without snappy: install libsnappy-dev and build with -DHEADRACE_WITH_SNAPPY=ON");
}

}  // namespace headrace
