#include "codec/codec_testing.h"
#include "codec/golden_testing.h"

namespace headrace {
namespace {

TEST(Registry, MakesEveryCodecByItsName) {
  for (const char* name : {"deflate", "shuffle", "fletcher32", "bzip2", "lzf", "blosc", "lz4", "bitshuffle", "zstd"}) {
    EXPECT_TRUE(codec_known(name));
    if (!built_without(name)) {
      EXPECT_EQ(codec_of(name, {4, 4, 4})->name(), name);
    }
  }
}

TEST(Registry, RefusesNamesItDoesNotKnow) {
  for (const char* name : {"", "szip", "Deflate", "zst"}) {
    EXPECT_FALSE(codec_known(name));
    EXPECT_EQ(make_codec({name, {}}, {}).error().code(), ErrorCode::kUnsupported);
  }
  EXPECT_EQ(make_codec({"szip", {}}, {}).error().message(), "there is no decoder for 'szip'");
}

}  // namespace
}  // namespace headrace
