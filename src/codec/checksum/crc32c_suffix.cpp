// crc32c (the codec of Zarr v3): the data, then 4 bytes of CRC-32C, little-endian, always verified. Source: Zarr v3
// codec "crc32c", version 1.0; the sum is that of RFC 3720.
#include <fmt/format.h>

#include "base/checksum/crc32c.h"
#include "codec/codec.h"
#include "codec/coded_bytes.h"

namespace headrace {
namespace {

constexpr std::size_t kCrcBytes = 4;

class Crc32cSuffix final : public Codec {
 public:
  [[nodiscard]] std::string_view name() const override { return "crc32c"; }
  [[nodiscard]] std::optional<std::uint64_t> encoded_size(std::uint64_t decoded) const override {
    return decoded + kCrcBytes;
  }
  [[nodiscard]] std::uint64_t max_encoded_size(std::uint64_t decoded) const override { return decoded + kCrcBytes; }

  Result<std::size_t> decode(std::span<const std::byte> in, std::span<std::byte> out) const override {
    if (in.size() < kCrcBytes) return corrupt(fmt::format("{} bytes cannot hold a checksum", in.size()));
    const std::size_t size = in.size() - kCrcBytes;
    if (size > out.size()) return corrupt(fmt::format("{} bytes where {} are expected", size, out.size()));
    const std::uint32_t sum = crc32c(in.first(size)), stored = load_le32(in.data() + size);
    if (stored != sum)
      return corrupt(fmt::format("checksum mismatch: stored {:#010x}, the {} bytes give {:#010x}", stored, size, sum));
    copy_bytes(out.data(), in.data(), size);
    return size;
  }
};

}  // namespace

Result<std::unique_ptr<Codec>> make_crc32c(const FilterSpec& /*spec*/, const ChunkForm& /*form*/) {
  return std::unique_ptr<Codec>(std::make_unique<Crc32cSuffix>());
}

}  // namespace headrace
