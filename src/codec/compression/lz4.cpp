// LZ4 (HDF5 filter 32004): u64 decoded size, u32 block size, then blocks of u32 stored size + data, all big-endian; a
// block as long as it decodes to is stored raw. Source: the LZ4 filter's format note in HDF5's registered plugins.
// Nothing in the header is believed: it may neither size an allocation nor keep the loop from moving on.
#include <fmt/format.h>
#include <lz4.h>

#include <algorithm>

#include "codec/codec.h"
#include "codec/coded_bytes.h"

namespace headrace {
namespace {

constexpr std::size_t kLz4HeaderBytes = 12;

class Lz4 final : public Codec {
 public:
  [[nodiscard]] std::string_view name() const override { return "lz4"; }
  // Small blocks cost 4 bytes each and LZ4's own worst case is 1/255; blocks of 16 bytes are still within this.
  [[nodiscard]] std::uint64_t max_encoded_size(std::uint64_t decoded) const override {
    return decoded + decoded / 4 + 65536;
  }

  Result<std::size_t> decode(std::span<const std::byte> in, std::span<std::byte> out) const override {
    if (in.size() < kLz4HeaderBytes) return corrupt(fmt::format("{} bytes cannot hold the LZ4 header", in.size()));
    const std::uint64_t total = load_be64(in.data());
    const std::uint32_t block_bytes = load_be32(in.data() + 8);
    if (total > out.size())
      return corrupt(fmt::format("the header says {} bytes where {} are expected", total, out.size()));
    if (block_bytes == 0 && total != 0) return corrupt("the header says blocks of 0 bytes");
    std::size_t at = kLz4HeaderBytes, done = 0;
    while (done < total) {
      const std::size_t wanted = static_cast<std::size_t>(std::min<std::uint64_t>(block_bytes, total - done));
      if (in.size() - at < 4) return corrupt(fmt::format("stream ends after {} of {} bytes", done, total));
      const std::size_t stored = load_be32(in.data() + at);
      at += 4;
      if (stored > in.size() - at) return corrupt(fmt::format("stream ends after {} of {} bytes", done, total));
      if (stored == wanted) {
        std::memcpy(out.data() + done, in.data() + at, wanted);
      } else if (wanted > LZ4_MAX_INPUT_SIZE || stored > LZ4_MAX_INPUT_SIZE) {
        return corrupt(fmt::format("a block of {} bytes, LZ4 has at most {}", wanted, LZ4_MAX_INPUT_SIZE));
      } else {
        const int made = LZ4_decompress_safe(as_char(in.data() + at), as_char(out.data() + done),
                                             static_cast<int>(stored), static_cast<int>(wanted));
        if (made < 0 || static_cast<std::size_t>(made) != wanted)
          return corrupt(fmt::format("damaged block after {} of {} bytes", done, total));
      }
      at += stored;
      done += wanted;
    }
    return done;
  }
};

}  // namespace

Result<std::unique_ptr<Codec>> make_lz4(const FilterSpec& /*spec*/, const ChunkForm& /*form*/) {
  return std::unique_ptr<Codec>(std::make_unique<Lz4>());
}

}  // namespace headrace
