#include <lz4.h>
#include <lz4frame.h>
#include <rapidcheck.h>

#include "codec/codec_testing.h"

namespace headrace {
namespace {

constexpr const char* kHadoopCodec = "lz4_hadoop";

void put_size(Bytes& to, std::size_t size) {
  for (int shift = 24; shift >= 0; shift -= 8) to.push_back(static_cast<std::byte>(size >> shift));
}

Bytes bare_block(std::span<const std::byte> plain) {
  Bytes stored(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(plain.size()))));
  const std::byte none{};
  stored.resize(static_cast<std::size_t>(LZ4_compress_default(
      reinterpret_cast<const char*>(plain.empty() ? &none : plain.data()), reinterpret_cast<char*>(stored.data()),
      static_cast<int>(plain.size()), static_cast<int>(stored.size()))));
  return stored;
}

/// Frames of `frame_bytes` decoded bytes, each in blocks of `block_bytes`; nothing is one frame of an empty block.
Bytes in_hadoop_frames(std::span<const std::byte> plain, std::size_t frame_bytes, std::size_t block_bytes) {
  Bytes stored;
  std::size_t at = 0;
  do {
    std::span<const std::byte> frame = plain.subspan(at, std::min(frame_bytes, plain.size() - at));
    at += frame.size();
    put_size(stored, frame.size());
    do {
      const std::size_t size = std::min(block_bytes, frame.size());
      const Bytes block = bare_block(frame.first(size));
      put_size(stored, block.size());
      stored.insert(stored.end(), block.begin(), block.end());
      frame = frame.subspan(size);
    } while (!frame.empty());
  } while (at < plain.size());
  return stored;
}

Bytes in_an_lz4_frame(const Bytes& plain, bool checksums = true) {
  LZ4F_preferences_t how{};
  how.frameInfo.contentChecksumFlag = checksums ? LZ4F_contentChecksumEnabled : LZ4F_noContentChecksum;
  Bytes stored(LZ4F_compressFrameBound(plain.size(), &how));
  stored.resize(LZ4F_compressFrame(stored.data(), stored.size(), plain.data(), plain.size(), &how));
  return stored;
}

Bytes both(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(Lz4Hadoop, RoundTrip) {
  const auto codec = codec_of(kHadoopCodec, {});
  EXPECT_TRUE(rc::check("of mixed data in frames and blocks of any size", [&] {
    const auto size = *rc::gen::inRange<std::size_t>(0, 60'000);
    const auto frame_bytes = *rc::gen::element<std::size_t>(1000, 4096, 1 << 20);
    const auto block_bytes = *rc::gen::element<std::size_t>(100, 1000, 1 << 20);
    const Bytes plain = mixed_bytes(size, static_cast<std::uint32_t>(size));
    const Bytes stored = in_hadoop_frames(plain, frame_bytes, block_bytes);
    RC_ASSERT(stored.size() <= codec->max_encoded_size(size));
    expect_decodes(*codec, stored, plain);
  }));
}

TEST(Lz4Hadoop, OlderFilesHaveBareBlocksAndFrames) {
  const auto codec = codec_of(kHadoopCodec, {});
  EXPECT_TRUE(rc::check("of mixed data", [&] {
    const auto size = *rc::gen::inRange<std::size_t>(0, 300'000);  // LZ4's own frames have blocks of 64 KiB
    const Bytes plain = mixed_bytes(size, static_cast<std::uint32_t>(size));
    expect_decodes(*codec, bare_block(plain), plain);
    expect_decodes(*codec, in_an_lz4_frame(plain, size % 2 == 0), plain);
  }));
  const Bytes a = mixed_bytes(500, 1), b = mixed_bytes(100'000, 2);
  expect_decodes(*codec, both(in_an_lz4_frame(a), in_an_lz4_frame(b)), both(a, b));
}

TEST(Lz4Hadoop, Nothing) {
  const auto codec = codec_of(kHadoopCodec, {});
  const Bytes as_arrow_writes = in_hadoop_frames({}, 10, 10), as_hadoop_writes(4);
  EXPECT_EQ(as_arrow_writes.size(), 9u);
  for (const Bytes& stored : {as_arrow_writes, as_hadoop_writes, Bytes(1), in_an_lz4_frame({}), Bytes()}) {
    expect_decodes(*codec, stored, {});
    EXPECT_EQ(codec->decode(stored, {}).value(), 0u) << "an output that is a null pointer";
  }
}

TEST(Lz4Hadoop, SurvivesDamage) {
  const auto codec = codec_of(kHadoopCodec, {});
  const Bytes plain = mixed_bytes(700, 3);
  for (const Bytes& stored : {in_hadoop_frames(plain, 1000, 1000), in_hadoop_frames(plain, 300, 150), bare_block(plain),
                              in_an_lz4_frame(plain)})
    expect_survives_damage(*codec, stored, plain);
}

TEST(Lz4Hadoop, TruncatedNeverDecodesToTheWhole) {
  const auto codec = codec_of(kHadoopCodec, {});
  const Bytes plain = mixed_bytes(700, 4);
  for (const Bytes& stored : {in_hadoop_frames(plain, 300, 150), bare_block(plain), in_an_lz4_frame(plain)}) {
    for (std::size_t size = 0; size < stored.size(); ++size) {
      const auto decoded = decode(*codec, std::span(stored).first(size), plain.size());
      EXPECT_FALSE(decoded.ok() && decoded->size() == plain.size()) << size;
    }
  }
}

TEST(Lz4Hadoop, SizesThatDoNotAddUpAreNoFraming) {
  const auto codec = codec_of(kHadoopCodec, {});
  const Bytes plain = mixed_bytes(200, 6), block = bare_block(plain);
  const auto why = [&](std::size_t frame, std::size_t stored_size, std::size_t behind = 0) {
    Bytes stored;
    put_size(stored, frame);
    put_size(stored, stored_size);
    stored.insert(stored.end(), block.begin(), block.end());
    stored.resize(stored.size() + behind);
    const std::string message = expect_refused(*codec, stored, plain.size()).message();
    const std::string start = "neither Hadoop's framing (";
    EXPECT_TRUE(message.starts_with(start)) << message;
    EXPECT_NE(message.find(") nor a bare block (the LZ4 block is damaged or holds more"), std::string::npos) << message;
    return message.substr(start.size(), message.find(')') - start.size());
  };
  const std::size_t size = block.size();
  EXPECT_EQ(why(201, size), "a frame of 201 bytes where 200 are expected");
  EXPECT_EQ(why(0xffffffff, size), "a frame of 4294967295 bytes where 200 are expected");
  EXPECT_TRUE(why(199, size).starts_with("the LZ4 block is damaged or holds more than the expected 199 bytes"));
  EXPECT_EQ(why(200, size + 1),
            "a block of " + std::to_string(size + 1) + " stored bytes where " + std::to_string(size) + " are left");
  EXPECT_EQ(why(200, size, 3), "3 bytes are left for the size of a frame");
  EXPECT_EQ(why(200, size, 8), "no LZ4 block in 0 stored bytes, 0 bytes expected");
  EXPECT_EQ(why(200, 0), "no LZ4 block in 0 stored bytes, 200 bytes expected");
}

TEST(Lz4Hadoop, SaysWhatIsWrongWithAFrame) {
  const auto codec = codec_of(kHadoopCodec, {});
  const Bytes plain = random_bytes(1000, 7);
  Bytes stored = in_an_lz4_frame(plain);
  const auto message = [&](std::span<const std::byte> bytes, std::size_t size) {
    return expect_refused(*codec, bytes, size).message();
  };
  EXPECT_EQ(message(stored, 999), "the LZ4 frame holds more than the expected 999 bytes");
  EXPECT_EQ(message(std::span(stored).first(stored.size() - 1), 1000), "the LZ4 frame ends after 1000 of 1000 bytes");
  EXPECT_EQ(message(std::span(stored).first(500), 1000).substr(0, 24), "the LZ4 frame ends after");
  EXPECT_EQ(message(both(stored, Bytes(9)), 1000), "damaged LZ4 frame (ERROR_frameType_unknown), 1000 bytes expected");
  stored.back() ^= std::byte{1};
  EXPECT_EQ(message(stored, 1000), "damaged LZ4 frame (ERROR_contentChecksum_invalid), 1000 bytes expected");
}

}  // namespace
}  // namespace headrace
