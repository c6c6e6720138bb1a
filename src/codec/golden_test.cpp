// Every filter and pipeline against what HDF5 with the reference filters wrote.
#include "codec/golden_testing.h"

namespace headrace {
namespace {

TEST(Golden, EveryChunkDecodesToItsPattern) {
  const auto chunks = golden_chunks();
  ASSERT_GT(chunks.size(), built_without("blosc") || built_without("bzip2") || built_without("szip") ? 160u : 240u);
  for (const GoldenChunk& golden : chunks) {
    SCOPED_TRACE(golden.name);
    auto chain = CodecChain::make(golden.filters, {golden.plain.size(), golden.element_bytes});
    ASSERT_TRUE(chain.ok()) << chain.error().what();
    EXPECT_LE(golden.stored.size(), chain->max_stored_bytes());
    ExactBuffer out(golden.plain.size());
    const Status status = decode_chain(*chain, golden.stored, golden.skip_mask, out.span());
    ASSERT_TRUE(status.ok()) << status.error().what();
    EXPECT_TRUE(out.bytes() == golden.plain);
  }
}

TEST(Golden, DamagedChunksEndInAnErrorOrFillTheOutput) {
  for (const GoldenChunk& golden : golden_chunks()) {
    SCOPED_TRACE(golden.name);
    auto chain = CodecChain::make(golden.filters, {golden.plain.size(), golden.element_bytes});
    ASSERT_TRUE(chain.ok());
    const std::string last = golden.filters.back().name;
    const bool checked = last == "fletcher32" ||
                         ((last == "deflate" || last == "bzip2") && golden.skip_mask == 0);  // these hold a checksum
    const auto check = [&](std::span<const std::byte> damaged, std::uint32_t mask, bool must_fail) {
      ExactBuffer out(golden.plain.size());
      const Status status = decode_chain(*chain, damaged, mask, out.span());
      EXPECT_FALSE(status.ok() && must_fail && out.bytes() != golden.plain);
      if (status.ok()) return;
      EXPECT_EQ(status.error().code(), ErrorCode::kCorruptData);
      EXPECT_FALSE(mask == golden.skip_mask && golden.skip_mask == 0 && status.error().stage().empty())
          << status.error().what();
    };
    const std::size_t step = 1 + golden.stored.size() / 200;
    for (std::size_t size = 0; size < golden.stored.size(); size += step)
      check(std::span(golden.stored).first(size), golden.skip_mask, checked);
    Bytes flipped = golden.stored;
    for (std::size_t bit = 0; bit < 8 * flipped.size(); bit += bit < 512 ? 1 : 8 * step + 1) {
      const std::byte mask{static_cast<std::uint8_t>(1u << bit % 8)};
      flipped[bit / 8] ^= mask;
      check(flipped, golden.skip_mask, checked);
      flipped[bit / 8] ^= mask;
    }
    for (std::uint32_t mask = 0; mask < 1u << golden.filters.size(); ++mask) check(golden.stored, mask, false);
  }
}

TEST(Golden, SettingsReadWell) {
  const auto setting = [](const std::string& name) -> std::string {
    for (const GoldenChunk& golden : golden_chunks())
      if (golden.name == name) return codec_of(golden.filters[0].name, golden.filters[0].parameters)->setting();
    return "no such case";
  };
  EXPECT_EQ(setting("gzip-4"), "4");
  if (!built_without("blosc")) {
    EXPECT_EQ(setting("blosc-5-1"), "zstd-5 + shuffle");
    EXPECT_EQ(setting("blosc-1-2"), "lz4-5 + bitshuffle");
    EXPECT_EQ(setting("blosc-0-0"), "blosclz-5");
  }
  EXPECT_EQ(setting("zstd-19"), "19");
  if (!built_without("bzip2")) {
    EXPECT_EQ(setting("bzip2-1"), "1");
  }
  EXPECT_EQ(setting("bitshuffle-lz4-4"), "lz4");
  EXPECT_EQ(setting("bitshuffle-none-4"), "");
  EXPECT_EQ(setting("shuffle-4"), "");
}

}  // namespace
}  // namespace headrace
