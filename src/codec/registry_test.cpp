#include "codec/codec_testing.h"
#include "codec/golden_testing.h"

namespace headrace {
namespace {

TEST(Registry, KnowsEveryNativeFilterByItsName) {
  const std::vector<std::pair<std::uint32_t, std::string>> native{
      {1, "deflate"},   {2, "shuffle"}, {3, "fletcher32"},     {307, "bzip2"}, {32000, "lzf"},
      {32001, "blosc"}, {32004, "lz4"}, {32008, "bitshuffle"}, {32015, "zstd"}};
  for (const auto& [id, name] : native) {
    EXPECT_TRUE(codec_known(id));
    EXPECT_EQ(filter_name(id), name);
    if (!built_without(name)) {
      EXPECT_EQ(codec_of(id, {4, 4, 4})->name(), name);
      continue;
    }
    const auto codec = make_codec({id, "", {4, 4, 4}}, {4096, 4});
    ASSERT_FALSE(codec.ok());
    EXPECT_EQ(codec.error().code(), ErrorCode::kUnsupported);
    EXPECT_NE(codec.error().message().find("this build is without " + name + ": install lib"), std::string::npos)
        << codec.error().what();
  }
}

TEST(Registry, NamesFiltersItCannotDecode) {
  EXPECT_EQ(filter_name(4), "szip");
  EXPECT_EQ(filter_name(32026), "Blosc2");
  EXPECT_EQ(filter_name(12345), "");
  for (const std::uint32_t id : {0u, 4u, 5u, 6u, 32013u, 32026u, 12345u}) {
    EXPECT_FALSE(codec_known(id));
    EXPECT_EQ(make_codec({id, "", {}}, {}).error().code(), ErrorCode::kUnsupported);
  }
  EXPECT_EQ(make_codec({4, "anything", {}}, {}).error().message(), "no decoder for filter 4 (szip)");
  EXPECT_EQ(make_codec({12345, "", {}}, {}).error().message(), "no decoder for filter 12345 (not a registered filter)");
}

}  // namespace
}  // namespace headrace
