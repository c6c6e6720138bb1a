#include "tools/png_picture.h"

#include <algorithm>
#include <vector>

#include "codec/chunk_encoder.h"
#include "codec/compression/raw_deflate.h"

namespace headrace {
namespace {

void add_big_endian(std::string& out, std::uint32_t number) {
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(number >> shift & 0xFF);
}

void add_chunk(std::string& out, std::string_view type, std::string_view data) {
  add_big_endian(out, static_cast<std::uint32_t>(data.size()));
  const std::size_t checked = out.size();
  out += type;
  out += data;
  add_big_endian(out, crc32_of(std::as_bytes(std::span(out).subspan(checked))));
}

}  // namespace

Result<std::string> png_picture(std::span<const std::uint8_t> grey, std::uint32_t width) {
  constexpr int kLevel = 6;
  const std::size_t height = grey.size() / width;
  std::vector<std::uint8_t> lines;
  lines.reserve(grey.size() + height);
  for (std::size_t y = 0; y < height; ++y) {
    lines.push_back(0);  // no filter
    const auto line = grey.subspan(y * width, width);
    lines.insert(lines.end(), line.begin(), line.end());
  }
  HEADRACE_ASSIGN(const EncodedChunk encoded,
                  encode_chunk(std::as_bytes(std::span(lines)), 1, {Compression::kGzip, kLevel, false}));
  std::string header;
  add_big_endian(header, width);
  add_big_endian(header, static_cast<std::uint32_t>(height));
  header += {8, 0, 0, 0, 0};  // bits a sample; grey; the only compression and filters; not interlaced
  std::string out = "\x89PNG\r\n\x1A\n";
  add_chunk(out, "IHDR", header);
  add_chunk(out, "IDAT", {reinterpret_cast<const char*>(encoded.bytes.data()), encoded.bytes.size()});
  add_chunk(out, "IEND", {});
  return out;
}

}  // namespace headrace
