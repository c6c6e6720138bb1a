#include "format/hdf5/filter_ids.h"

#include <gtest/gtest.h>

namespace headrace::hdf5 {
namespace {

TEST(FilterIds, EveryCodecHasItsNumber) {
  const std::vector<std::pair<std::uint32_t, std::string>> native{
      {1, "deflate"}, {2, "shuffle"}, {3, "fletcher32"}, {4, "szip"},    {5, "nbit"},           {6, "scaleoffset"},
      {307, "bzip2"}, {32000, "lzf"}, {32001, "blosc"},  {32004, "lz4"}, {32008, "bitshuffle"}, {32015, "zstd"}};
  for (const auto& [id, name] : native) {
    const FilterSpec codec = codec_of({id, "as the file says", {4, 5}});
    EXPECT_EQ(codec.name, name);
    EXPECT_EQ(codec.parameters, (std::vector<std::uint32_t>{4, 5}));
    EXPECT_TRUE(codec_known(codec.name));
  }
}

TEST(FilterIds, NamesFiltersThatCannotBeDecoded) {
  EXPECT_EQ(filter_name(32013), "ZFP");
  EXPECT_EQ(filter_name(32026), "Blosc2");
  EXPECT_EQ(filter_name(12345), "");
  for (const std::uint32_t id : {0u, 32013u, 32026u, 12345u})
    EXPECT_FALSE(codec_known(codec_of({id, "deflate", {}}).name)) << "what the file calls it counts for nothing";
  EXPECT_EQ(filter_text({32013, "H5Z-ZFP", {}}), "filter 32013 (ZFP)");
  EXPECT_EQ(filter_text({40000, "house filter", {}}), "filter 40000 (house filter)");
  EXPECT_EQ(filter_text({40000, "", {}}), "filter 40000");
}

}  // namespace
}  // namespace headrace::hdf5
