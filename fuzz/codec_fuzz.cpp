// Feeds a decoder (HEADRACE_FUZZ_FILTER, or a whole pipeline for "") arbitrary bytes between buffers of exact size, so
// that the address sanitizer sees any byte too many. The input is a recipe, then the stored bytes (make_seeds.py):
//   u8 filter count, u8 filter mask, u16 decoded size, then for each filter: u8 index into kCodecs, u8 value count, u16
//   values
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "codec/codec_chain.h"

namespace {

constexpr std::array<const char*, 18> kCodecs{
    "deflate", "shuffle", "fletcher32",  "bzip2",  "lzf",  "blosc",   "lz4",        "bitshuffle", "zstd",
    "szip",    "nbit",    "scaleoffset", "snappy", "gzip", "lz4_raw", "lz4_hadoop", "crc32c",     "lz4_sized"};
const std::string kOnly = HEADRACE_FUZZ_FILTER;

class Recipe {
 public:
  Recipe(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  std::uint32_t u8() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  std::uint32_t u16() {
    const std::uint32_t low = u8();
    return low | u8() << 8;
  }
  [[nodiscard]] std::span<const std::uint8_t> rest() const { return {data_, size_}; }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

/// Some filters know the elements' size too, and it must be the same.
std::uint64_t element_bytes(const std::vector<headrace::FilterSpec>& filters) {
  for (const headrace::FilterSpec& filter : filters) {
    const bool sized = filter.name == "nbit" || filter.name == "scaleoffset";
    if (sized && filter.parameters.size() > 4) return filter.parameters[4];
    if (filter.name == "szip" && filter.parameters.size() > 2 && filter.parameters[2] == 64) return 8;
  }
  return 4;
}

struct Buffer {
  explicit Buffer(std::size_t size_bytes) : size(size_bytes), data(new std::byte[size_bytes]) {}
  [[nodiscard]] std::span<std::byte> span() const { return {data.get(), size}; }
  std::size_t size;
  std::unique_ptr<std::byte[]> data;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Recipe recipe(data, size);
  const std::uint32_t count = recipe.u8() % 6, mask = recipe.u8(), out_bytes = recipe.u16();
  std::vector<headrace::FilterSpec> filters;
  for (std::uint32_t i = 0; i < count; ++i) {
    headrace::FilterSpec spec;
    spec.name = kCodecs[recipe.u8() % kCodecs.size()];
    spec.parameters.resize(recipe.u8() % 64);
    for (std::uint32_t& value : spec.parameters) value = recipe.u16();
    if (kOnly.empty() || spec.name == kOnly) filters.push_back(std::move(spec));
  }
  if (filters.empty()) filters.push_back({kOnly, {0, 0, 4}});
  if (filters[0].name.empty()) return 0;
  const auto chain = headrace::CodecChain::make(filters, {out_bytes, element_bytes(filters)});
  if (!chain.ok()) return 0;
  if (chain->scratch_bytes() > 1 << 24) return 0;
  const Buffer out(out_bytes), ping(chain->scratch_bytes()), pong(chain->scratch_bytes()), in(recipe.rest().size());
  if (in.size != 0) std::memcpy(in.data.get(), recipe.rest().data(), in.size);
  const auto status = chain->decode(in.span(), mask, out.span(), {ping.span(), pong.span()});
  if (!status.ok() && status.error().code() == headrace::ErrorCode::kInternal) std::abort();
  return 0;
}
