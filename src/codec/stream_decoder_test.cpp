#include "codec/stream_decoder.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <string>
#include <vector>

namespace headrace {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(const std::string& text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

Bytes gzipped(const std::string& text) {
  z_stream stream = {};
  EXPECT_EQ(::deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  Bytes out(::deflateBound(&stream, text.size()));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

Bytes zstd_compressed(const std::string& text) {
  Bytes out(ZSTD_compressBound(text.size()));
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

/// Decodes with so many bytes of input and room for so many of output at a time.
Result<std::string> decoded(StreamDecoder& decoder, std::span<const std::byte> in, std::size_t part, std::size_t room) {
  std::string text;
  Bytes out(room);
  while (true) {
    HEADRACE_ASSIGN(const StreamDecoder::Step step, decoder.decode(in.first(std::min(part, in.size())), out));
    in = in.subspan(step.consumed);
    text.append(reinterpret_cast<const char*>(out.data()), step.produced);
    if (step.consumed == 0 && step.produced == 0) return text;
  }
}

TEST(StreamDecoder, DecodesWhateverThePartsAre) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "line " + std::to_string(i * 7919) + "\n";
  for (const bool is_gzip : {true, false}) {
    Bytes two = is_gzip ? gzipped(text) : zstd_compressed(text);
    const Bytes one = two;
    two.insert(two.end(), one.begin(), one.end());
    for (const std::size_t part : {1, 7, 1000, 1 << 20})
      for (const std::size_t room : {1, 13, 1 << 16}) {
        auto decoder = is_gzip ? make_gzip_stream().value() : make_zstd_stream(1 << 23).value();
        EXPECT_TRUE(decoder->may_end());
        EXPECT_EQ(decoded(*decoder, two, part, room).value(), text + text);
        EXPECT_TRUE(decoder->may_end());
      }
  }
}

TEST(StreamDecoder, MayNotEndInTheMiddle) {
  for (const bool is_gzip : {true, false}) {
    const Bytes whole = is_gzip ? gzipped("some text, and more of it") : zstd_compressed("some text, and more of it");
    for (std::size_t size = 1; size < whole.size(); ++size) {
      auto decoder = is_gzip ? make_gzip_stream().value() : make_zstd_stream(1 << 23).value();
      ASSERT_TRUE(decoded(*decoder, std::span(whole).first(size), 5, 5).ok());
      EXPECT_FALSE(decoder->may_end()) << size;
    }
  }
}

TEST(StreamDecoder, RefusesDamage) {
  Bytes gzip = gzipped("some text, and more of it");
  gzip[gzip.size() - 6] ^= std::byte{1};  // of the checksum
  auto decoder = make_gzip_stream().value();
  auto damaged = decoded(*decoder, gzip, 1000, 1000);
  ASSERT_FALSE(damaged.ok());
  EXPECT_EQ(damaged.error().code(), ErrorCode::kCorruptData);
  decoder = make_zstd_stream(1 << 23).value();
  damaged = decoded(*decoder, bytes_of("no frame of zstd"), 1000, 1000);
  ASSERT_FALSE(damaged.ok());
  EXPECT_EQ(damaged.error().code(), ErrorCode::kCorruptData);
}

TEST(StreamDecoder, RefusesWindowsBeyondTheLimit) {
  Bytes out(1 << 20);
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, 24);
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  const std::string text(1 << 16, 'a');
  ZSTD_inBuffer from{text.data(), text.size(), 0};
  ZSTD_outBuffer to{out.data(), out.size(), 0};
  ZSTD_compressStream2(context, &to, &from,
                       ZSTD_e_continue);  // at an end the window would be made as small as the text
  while (ZSTD_compressStream2(context, &to, &from, ZSTD_e_end) != 0) {
  }
  ZSTD_freeCCtx(context);
  auto decoder = make_zstd_stream(1 << 20).value();
  auto refused = decoded(*decoder, std::span(out).first(to.pos), 1000, 1000);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kOutOfBudget);
}

}  // namespace
}  // namespace headrace
