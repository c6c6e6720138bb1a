// lz4_sized: the decoded size in 4 bytes, little-endian, then one LZ4 block: what numcodecs calls "lz4", in Zarr.
// Source: numcodecs/lz4.pyx.
#include <fmt/format.h>

#include "codec/codec.h"
#include "codec/coded_bytes.h"
#include "codec/compression/lz4_block.h"

namespace headrace {
namespace {

constexpr std::size_t kSizeBytes = 4;

class Lz4Sized final : public Codec {
 public:
  [[nodiscard]] std::string_view name() const override { return "lz4_sized"; }

  Result<std::size_t> decode(std::span<const std::byte> in, std::span<std::byte> out) const override {
    if (in.size() < kSizeBytes) return corrupt(fmt::format("{} bytes cannot hold a size", in.size()));
    const std::size_t size = load_le32(in.data());
    if (size > out.size())
      return corrupt(fmt::format("the header says {} bytes where {} are expected", size, out.size()));
    HEADRACE_ASSIGN(const std::size_t made, decode_lz4_block(in.subspan(kSizeBytes), out.first(size)));
    if (made != size) return corrupt(fmt::format("the block holds {} bytes, its header says {}", made, size));
    return made;
  }
};

}  // namespace

Result<std::unique_ptr<Codec>> make_lz4_sized(const FilterSpec& /*spec*/, const ChunkForm& /*form*/) {
  return std::unique_ptr<Codec>(std::make_unique<Lz4Sized>());
}

}  // namespace headrace
