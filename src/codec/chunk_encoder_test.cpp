#include "codec/chunk_encoder.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <zlib.h>

#include <random>

#include "codec/codec_chain.h"
#include "codec/compression/lzf_compress.h"

namespace headrace {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(const std::vector<std::uint8_t>& values) {
  Bytes bytes(values.size());
  std::transform(values.begin(), values.end(), bytes.begin(), [](std::uint8_t v) { return std::byte{v}; });
  return bytes;
}

/// LZF by its definition, byte after byte; empty where the stream is not valid.
Bytes lzf_decompress(std::span<const std::byte> in) {
  Bytes out;
  std::size_t at = 0;
  const auto next = [&] { return at < in.size() ? std::to_integer<std::size_t>(in[at++]) : std::size_t{999}; };
  while (at < in.size()) {
    const std::size_t control = next();
    if (control < 32) {
      for (std::size_t i = 0; i <= control; ++i) out.push_back(static_cast<std::byte>(next()));
      continue;
    }
    std::size_t length = control >> 5;
    if (length == 7) length += next();
    const std::size_t distance = ((control & 31) << 8) + next() + 1;
    if (distance > out.size()) return {};
    for (std::size_t i = 0; i < length + 2; ++i) out.push_back(out[out.size() - distance]);
  }
  return out;
}

Bytes noise(std::size_t size) {
  std::mt19937 random(1);
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0xFF);
  return bytes;
}

RC_GTEST_PROP(Lzf, ComesBack, ()) {
  // Few different values, so that there are matches of every length and distance.
  const auto values = *rc::gen::container<std::vector<std::uint8_t>>(rc::gen::inRange<std::uint8_t>(0, 4));
  const int repeats = *rc::gen::inRange(1, 80);
  Bytes in;
  for (int i = 0; i < repeats; ++i) {
    const Bytes part = bytes_of(values);
    in.insert(in.end(), part.begin(), part.end());
  }
  Bytes out(in.size() * 2 + 16);
  out.resize(lzf_compress(in, out));
  RC_ASSERT(lzf_decompress(out) == in);
}

TEST(Lzf, LongRunsAndFarMatchesComeBack) {
  Bytes in = noise(9000);
  in.resize(30'000);  // a long run of zeros
  const Bytes head(in.begin(), in.begin() + 9000);
  in.insert(in.end(), head.begin(), head.end());       // a repetition beyond the reach of a match
  in.insert(in.end(), head.end() - 8000, head.end());  // and one within
  Bytes out(in.size() * 2);
  out.resize(lzf_compress(in, out));
  EXPECT_LT(out.size(), 9000 + 9000 + 2000U);
  EXPECT_EQ(lzf_decompress(out), in);
}

TEST(Lzf, WhatDoesNotShrinkIsStoredWithTheFilterSkipped) {
  const Bytes in = noise(4096);
  const auto chunk = encode_chunk(in, 4, {.compression = Compression::kLzf, .level = 0});
  ASSERT_TRUE(chunk.ok());
  EXPECT_EQ(chunk->filter_mask, 1U);
  EXPECT_EQ(chunk->bytes, in);
  const auto shuffled = encode_chunk(in, 4, {.compression = Compression::kLzf, .level = 0, .shuffle = true});
  ASSERT_TRUE(shuffled.ok());
  EXPECT_EQ(shuffled->filter_mask, 2U) << "the shuffle is still applied";
  EXPECT_NE(shuffled->bytes, in);
}

TEST(ChunkEncoder, ShuffleGathersBytesOfEqualSignificance) {
  const Bytes in = bytes_of({1, 2, 3, 4, 5, 6, 7, 8});
  Bytes out(8);
  shuffle_bytes(in, 4, out);
  EXPECT_EQ(out, bytes_of({1, 5, 2, 6, 3, 7, 4, 8}));
}

TEST(ChunkEncoder, GzipIsWhatZlibReads) {
  Bytes in = noise(20'000);
  in.resize(80'000);
  const auto gzip = encode_chunk(in, 4, {.compression = Compression::kGzip, .level = 4});
  ASSERT_TRUE(gzip.ok());
  Bytes out(in.size());
  uLongf size = out.size();
  ASSERT_EQ(uncompress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(gzip->bytes.data()),
                       gzip->bytes.size()),
            Z_OK);
  EXPECT_EQ(out, in);
}

/// Chunks of every coding come back through the decoders that the file's filters name.
class EveryCoding : public ::testing::TestWithParam<ChunkCoding> {};

TEST_P(EveryCoding, ComesBackThroughTheChainThatItsFiltersName) {
  const ChunkCoding coding = GetParam();
  for (const std::size_t element : {1U, 2U, 4U, 8U, 12U}) {
    for (const std::size_t elements : {1U, 7U, 5000U}) {
      for (const bool compressible : {true, false}) {
        Bytes in = noise(element * elements);
        if (compressible) std::fill(in.begin() + static_cast<std::ptrdiff_t>(in.size() / 4), in.end(), std::byte{0});
        const auto chunk = encode_chunk(in, element, coding);
        if (!chunk.ok() && chunk.error().code() == ErrorCode::kUnsupported) GTEST_SKIP() << chunk.error().what();
        ASSERT_TRUE(chunk.ok()) << chunk.error().what();
        const auto chain = CodecChain::make(filters_of(coding, element, in.size()), {in.size(), element});
        ASSERT_TRUE(chain.ok()) << chain.error().what();
        Bytes out(in.size()), ping(chain->scratch_bytes()), pong(chain->scratch_bytes());
        const Status decoded = chain->decode(chunk->bytes, chunk->filter_mask, out, {ping, pong});
        ASSERT_TRUE(decoded.ok()) << decoded.error().what();
        EXPECT_EQ(out, in) << to_string(coding) << ", " << elements << " elements of " << element;
        if (compressible && elements == 5000 && coding.compression != Compression::kNone) {
          EXPECT_LT(chunk->bytes.size(), in.size() / 2) << to_string(coding);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    ChunkEncoder, EveryCoding,
    ::testing::Values(ChunkCoding{}, ChunkCoding{Compression::kGzip, 1, false},
                      ChunkCoding{Compression::kGzip, 4, true}, ChunkCoding{Compression::kLzf, 0, true},
                      ChunkCoding{Compression::kLz4, 0, false}, ChunkCoding{Compression::kLz4, 0, true},
                      ChunkCoding{Compression::kZstd, 1, false}, ChunkCoding{Compression::kZstd, 3, true},
                      ChunkCoding{Compression::kBloscLz4, 5, true}, ChunkCoding{Compression::kBloscZstd, 5, true}));

}  // namespace
}  // namespace headrace
