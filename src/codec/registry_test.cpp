#include "codec/codec_testing.h"
#include "codec/golden_testing.h"

namespace headrace {
namespace {

TEST(Registry, MakesEveryCodecByItsName) {
  for (const char* name : {"deflate", "shuffle", "fletcher32", "bzip2", "lzf", "blosc", "lz4", "bitshuffle", "zstd",
                           "snappy", "gzip", "lz4_raw", "lz4_hadoop"}) {
    EXPECT_TRUE(codec_known(name));
    if (!built_without(name)) {
      EXPECT_EQ(codec_of(name, {4, 4, 4})->name(), name);
    }
  }
  // These know how many elements a chunk has; their own tests make them.
  for (const char* name : {"szip", "nbit", "scaleoffset"}) EXPECT_TRUE(codec_known(name));
}

TEST(Registry, RefusesNamesItDoesNotKnow) {
  // "Snappy" is what the list of HDF5's filters calls 32003, which is not decoded.
  for (const char* name : {"", "zfp", "Deflate", "zst", "Snappy"}) {
    EXPECT_FALSE(codec_known(name));
    EXPECT_EQ(make_codec({name, {}}, {}).error().code(), ErrorCode::kUnsupported);
  }
  EXPECT_EQ(make_codec({"zfp", {}}, {}).error().message(), "there is no decoder for 'zfp'");
}

}  // namespace
}  // namespace headrace
