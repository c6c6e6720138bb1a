// Blosc 1 (HDF5 filter 32001): a 16-byte header, then blocks of split, shuffled and compressed streams; c-blosc
// decodes. Client values (hdf5-blosc): 2 type size, 3 chunk bytes, 4 level, 5 shuffle (0 none, 1 bytes, 2 bits), 6
// compressor.
#include <blosc.h>
#include <fmt/format.h>

#include <array>

#include "codec/codec.h"
#include "codec/coded_bytes.h"
#include "codec/library_versions.h"

namespace headrace {
namespace {

// What the compressor's number in the client values stands for (blosc.h).
constexpr std::array<std::string_view, 6> kCompressors{"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"};

class Blosc final : public Codec {
 public:
  explicit Blosc(std::string setting) : setting_(std::move(setting)) {}
  [[nodiscard]] std::string_view name() const override { return "blosc"; }
  [[nodiscard]] std::string setting() const override { return setting_; }
  [[nodiscard]] std::uint64_t max_encoded_size(std::uint64_t decoded) const override {
    return decoded + decoded / 8 + 65536;
  }

  Result<std::size_t> decode(std::span<const std::byte> in, std::span<std::byte> out) const override {
    if (in.size() < BLOSC_MIN_HEADER_LENGTH)
      return corrupt(fmt::format("{} bytes cannot hold the Blosc header", in.size()));
    const std::size_t decoded = load_le32(in.data() + 4), block = load_le32(in.data() + 8),
                      stored = load_le32(in.data() + 12);
    if (stored > in.size()) return corrupt(fmt::format("{} of {} stored bytes are there", in.size(), stored));
    if (decoded > out.size())
      return corrupt(fmt::format("the header says {} bytes where {} are expected", decoded, out.size()));
    // c-blosc allocates by the block size, so a false one must not get that far.
    if (decoded != 0 && (block == 0 || block > decoded))
      return corrupt(fmt::format("the header says blocks of {} bytes for {} bytes of data", block, decoded));
    std::size_t validated = 0;
    if (blosc_cbuffer_validate(in.data(), stored, &validated) != 0 || validated != decoded)
      return corrupt("the Blosc header contradicts itself");
    if (decoded == 0) return std::size_t{0};
    const int written = blosc_decompress_ctx(in.data(), out.data(), out.size(), 1);
    if (written < 0 || static_cast<std::size_t>(written) != decoded)
      return corrupt(fmt::format("damaged stream, {} bytes expected", decoded));
    return decoded;
  }

 private:
  std::string setting_;
};

}  // namespace

Result<std::unique_ptr<Codec>> make_blosc(const FilterSpec& spec, const ChunkForm& /*form*/) {
  const auto& values = spec.parameters;
  std::string setting;
  if (values.size() > 6 && values[6] < kCompressors.size()) {
    const std::string_view compressor = kCompressors[values[6]];
    const char* available = nullptr;
    if (blosc_compcode_to_compname(static_cast<int>(values[6]), &available) < 0)
      return Error(ErrorCode::kUnsupported, fmt::format("this c-blosc is built without {}", compressor));
    setting = fmt::format("{}-{}", compressor, values[4]);
  }
  if (values.size() > 5 && values[5] == 1) setting += setting.empty() ? "shuffle" : " + shuffle";
  if (values.size() > 5 && values[5] == 2) setting += setting.empty() ? "bitshuffle" : " + bitshuffle";
  return std::unique_ptr<Codec>(std::make_unique<Blosc>(std::move(setting)));
}

std::string blosc_version() {
  return blosc_get_version_string();
}

}  // namespace headrace
