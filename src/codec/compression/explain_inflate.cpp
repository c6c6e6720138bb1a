#include "codec/compression/explain_inflate.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>

#include "codec/coded_bytes.h"

namespace headrace {

Error explain_inflate(std::span<const std::byte> in, std::span<std::byte> out, InflateWrapper wrapper) {
  const bool gzip = wrapper == InflateWrapper::kGzip;
  constexpr std::size_t kStep = std::numeric_limits<uInt>::max();
  z_stream stream{};
  if (inflateInit2(&stream, gzip ? MAX_WBITS + 16 : MAX_WBITS) != Z_OK) return corrupt("damaged stream");
  std::byte none;  // zlib refuses a null pointer, even for an empty output
  std::size_t in_used = 0, out_used = 0;
  int state = Z_OK;
  while (state == Z_OK) {
    const std::size_t in_step = std::min(in.size() - in_used, kStep), out_step = std::min(out.size() - out_used, kStep);
    stream.next_in = const_cast<Bytef*>(as_u8(in.data()) + in_used);
    stream.avail_in = static_cast<uInt>(in_step);
    stream.next_out = out.empty() ? as_u8(&none) : as_u8(out.data()) + out_used;
    stream.avail_out = static_cast<uInt>(out_step);
    state = inflate(&stream, Z_NO_FLUSH);
    const std::size_t taken = in_step - stream.avail_in, made = out_step - stream.avail_out;
    in_used += taken;
    out_used += made;
    if (state == Z_OK && taken == 0 && made == 0) state = Z_BUF_ERROR;
  }
  std::string why = stream.msg != nullptr ? stream.msg : "";
  inflateEnd(&stream);
  if (why == "incorrect data check")
    return corrupt(fmt::format("{} checksum mismatch over {} bytes", gzip ? "CRC-32" : "adler32", out_used));
  if (state == Z_BUF_ERROR && in_used == in.size() && out_used < out.size())
    return corrupt(fmt::format("stream ends after {} of {} bytes", out_used, out.size()));
  if (state == Z_BUF_ERROR && out_used == out.size() && in_used == in.size())
    return corrupt(fmt::format("stream ends without its checksum after {} bytes", out_used));
  if (state == Z_BUF_ERROR) return corrupt(fmt::format("stream holds more than the expected {} bytes", out.size()));
  if (state == Z_NEED_DICT) why = "a preset dictionary is asked for";
  return corrupt(fmt::format("damaged stream after {} of {} bytes ({})", out_used, out.size(),
                             why.empty() ? "invalid data" : why));
}

}  // namespace headrace
