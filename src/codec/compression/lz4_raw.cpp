// lz4_raw: one LZ4 block without any framing, as Parquet's LZ4_RAW pages hold it. Neither a size nor a checksum is
// stored: a block ends with its input, so damage that still is a block is found only by the size that it decodes to.
// Source: LZ4's lz4_Block_format.md.
#include <fmt/format.h>
#include <lz4.h>

#include <algorithm>
#include <limits>

#include "codec/codec.h"
#include "codec/coded_bytes.h"
#include "codec/compression/lz4_block.h"

namespace headrace {

Result<std::size_t> decode_lz4_block(std::span<const std::byte> in, std::span<std::byte> out) {
  constexpr std::size_t kMost = std::numeric_limits<int>::max();  // liblz4 counts in int
  if (in.empty()) return corrupt(fmt::format("no LZ4 block in 0 stored bytes, {} bytes expected", out.size()));
  if (in.size() > kMost)
    return corrupt(fmt::format("an LZ4 block of {} stored bytes, {} are the most", in.size(), kMost));
  std::byte none;  // an empty output may be a null pointer
  const int made = LZ4_decompress_safe(as_char(in.data()), as_char(out.empty() ? &none : out.data()),
                                       static_cast<int>(in.size()), static_cast<int>(std::min(out.size(), kMost)));
  if (made >= 0) return static_cast<std::size_t>(made);
  return corrupt(
      fmt::format("the LZ4 block is damaged or holds more than the expected {} bytes (found at byte {} of {})",
                  out.size(), -(made + 1), in.size()));
}

namespace {

class Lz4Raw final : public Codec {
 public:
  [[nodiscard]] std::string_view name() const override { return "lz4_raw"; }

  Result<std::size_t> decode(std::span<const std::byte> in, std::span<std::byte> out) const override {
    return decode_lz4_block(in, out);
  }
};

}  // namespace

Result<std::unique_ptr<Codec>> make_lz4_raw(const FilterSpec& /*spec*/, const ChunkForm& /*form*/) {
  return std::unique_ptr<Codec>(std::make_unique<Lz4Raw>());
}

}  // namespace headrace
