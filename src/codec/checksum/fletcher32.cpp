// fletcher32 (HDF5 filter 3): the data, then 4 bytes of checksum, always verified. Source: H5Zfletcher32.c.
#include <fmt/format.h>

#include "codec/checksum/fletcher32_sum.h"
#include "codec/codec.h"
#include "codec/coded_bytes.h"

namespace headrace {
namespace {

constexpr std::size_t kSumBytes = 4;

class Fletcher32 final : public Codec {
 public:
  [[nodiscard]] std::string_view name() const override { return "fletcher32"; }
  [[nodiscard]] std::optional<std::uint64_t> encoded_size(std::uint64_t decoded) const override {
    return decoded + kSumBytes;
  }
  [[nodiscard]] std::uint64_t max_encoded_size(std::uint64_t decoded) const override { return decoded + kSumBytes; }

  Result<std::size_t> decode(std::span<const std::byte> in, std::span<std::byte> out) const override {
    if (in.size() < kSumBytes) return corrupt(fmt::format("{} bytes cannot hold a checksum", in.size()));
    const std::size_t size = in.size() - kSumBytes;
    if (size > out.size()) return corrupt(fmt::format("{} bytes where {} are expected", size, out.size()));
    const std::uint32_t sum = fletcher32_sum(as_u8(in.data()), size);
    const std::uint32_t stored = load_le32(in.data() + size);
    // HDF5 before 1.6.3 stored each half with its bytes swapped on little-endian machines; HDF5 accepts both.
    const std::uint32_t swapped = (sum & 0x00ff00ff) << 8 | (sum >> 8 & 0x00ff00ff);
    if (stored != sum && stored != swapped)
      return corrupt(
          fmt::format("checksum mismatch: stored {:#010x}, the {} bytes sum to {:#010x}", stored, size, sum));
    copy_bytes(out.data(), in.data(), size);
    return size;
  }
};

}  // namespace

Result<std::unique_ptr<Codec>> make_fletcher32(const FilterSpec& /*spec*/, const ChunkForm& /*form*/) {
  return std::unique_ptr<Codec>(std::make_unique<Fletcher32>());
}

}  // namespace headrace
