// bitshuffle (HDF5 filter 32008): blocks of elements with their bits transposed, each block optionally compressed.
// Client values: 2 element size, 3 block size in elements (0: the default), 4 compression (0 none, 2 LZ4, 3 zstd),
// 5 level. Compressed data starts with u64 decoded bytes and u32 block bytes, and each block with its u32 stored size,
// all big-endian. The last elements that do not make a group of 8 are stored as they are.
// Source: bshuf_h5filter.c, bitshuffle.c. As with LZ4, nothing in the header is believed.
#include <fmt/format.h>
#include <lz4.h>

#include <algorithm>
#include <new>

#include "codec/codec.h"
#include "codec/coded_bytes.h"
#include "codec/compression/zstd_context.h"
#include "codec/elements/bitunshuffle.h"

namespace headrace {
namespace {

enum class Packing : std::uint8_t { kNone = 0, kLz4 = 2, kZstd = 3 };
constexpr std::size_t kBitshuffleHeaderBytes = 12;
constexpr std::uint64_t kGroup = 8;

std::uint64_t default_block_elements(std::uint64_t element_bytes) {
  return std::max<std::uint64_t>(8192 / element_bytes / kGroup * kGroup, 128);
}

// Grows only; a thread keeps the largest block it has met.
std::span<std::byte> thread_block(std::size_t bytes) {
  thread_local std::unique_ptr<std::byte[]> buffer;
  thread_local std::size_t size = 0;
  if (size < bytes) {
    buffer.reset();
    size = 0;
    buffer.reset(new (std::nothrow) std::byte[bytes]);
    if (buffer == nullptr) return {};
    size = bytes;
  }
  return {buffer.get(), bytes};
}

class Bitshuffle final : public Codec {
 public:
  Bitshuffle(std::uint64_t element_bytes, std::uint64_t block_elements, Packing packing, std::string setting)
      : element_bytes_(element_bytes),
        block_elements_(block_elements),
        packing_(packing),
        setting_(std::move(setting)) {}
  [[nodiscard]] std::string_view name() const override { return "bitshuffle"; }
  [[nodiscard]] std::string setting() const override { return setting_; }
  [[nodiscard]] std::optional<std::uint64_t> encoded_size(std::uint64_t decoded) const override {
    if (packing_ != Packing::kNone) return {};
    return decoded;
  }
  // The smallest block, 8 elements of 1 byte, costs 4 bytes for its size and a few in the compressor.
  [[nodiscard]] std::uint64_t max_encoded_size(std::uint64_t decoded) const override {
    return decoded + decoded * 4 + 65536;
  }

  Result<std::size_t> decode(std::span<const std::byte> in, std::span<std::byte> out) const override {
    std::uint64_t total = in.size(), block_elements = block_elements_;
    if (packing_ != Packing::kNone) {
      if (in.size() < kBitshuffleHeaderBytes) return corrupt(fmt::format("{} bytes cannot hold the header", in.size()));
      total = load_be64(in.data());
      const std::uint64_t block_bytes = load_be32(in.data() + 8);
      block_elements = block_bytes / element_bytes_;
      if (block_elements == 0 || block_elements % kGroup != 0 || block_bytes % element_bytes_ != 0)
        return corrupt(
            fmt::format("the header says blocks of {} bytes for elements of {}", block_bytes, element_bytes_));
      in = in.subspan(kBitshuffleHeaderBytes);
    }
    if (total > out.size())
      return corrupt(fmt::format("the stream holds {} bytes where {} are expected", total, out.size()));
    if (total % element_bytes_ != 0)
      return corrupt(fmt::format("{} bytes are no whole number of {}-byte elements", total, element_bytes_));
    return decode_blocks(in, out.first(static_cast<std::size_t>(total)), block_elements);
  }

 private:
  Result<std::size_t> decode_blocks(std::span<const std::byte> in, std::span<std::byte> out,
                                    std::uint64_t block_elements) const {
    std::uint64_t left = out.size() / element_bytes_;
    std::size_t done = 0;
    while (left >= kGroup) {
      const std::uint64_t elements = std::min(block_elements, left - left % kGroup);
      const std::size_t bytes = static_cast<std::size_t>(elements * element_bytes_);
      std::span<const std::byte> block;
      if (packing_ == Packing::kNone) {
        block = in.first(bytes);  // decode() gave `out` the size of `in`
        in = in.subspan(bytes);
      } else {
        HEADRACE_ASSIGN(block, unpack(in, bytes, done, out.size()));
      }
      bitunshuffle(as_u8(block.data()), static_cast<std::size_t>(elements), static_cast<std::size_t>(element_bytes_),
                   as_u8(out.data() + done));
      done += bytes;
      left -= elements;
    }
    const std::size_t rest = out.size() - done;
    if (in.size() < rest) return corrupt(fmt::format("stream ends after {} of {} bytes", done, out.size()));
    copy_bytes(out.data() + done, in.data(), rest);
    return out.size();
  }

  // Takes one compressed block off the front of `in`; the result lies in this thread's buffer.
  Result<std::span<const std::byte>> unpack(std::span<const std::byte>& in, std::size_t bytes, std::size_t done,
                                            std::size_t total) const {
    const std::size_t stored = in.size() < 4 ? 0 : load_be32(in.data());
    if (in.size() < 4 || stored > in.size() - 4)
      return corrupt(fmt::format("stream ends after {} of {} bytes", done, total));
    const std::span<const std::byte> packed = in.subspan(4, stored);
    in = in.subspan(4 + stored);
    const std::span<std::byte> block = thread_block(bytes);
    if (block.empty()) return Error(ErrorCode::kOutOfBudget, fmt::format("no memory for a block of {} bytes", bytes));
    std::size_t made = 0;
    if (packing_ == Packing::kLz4) {
      if (bytes > LZ4_MAX_INPUT_SIZE || stored > LZ4_MAX_INPUT_SIZE)
        return corrupt(fmt::format("a block of {} bytes, LZ4 has at most {}", bytes, LZ4_MAX_INPUT_SIZE));
      const int result = LZ4_decompress_safe(as_char(packed.data()), as_char(block.data()), static_cast<int>(stored),
                                             static_cast<int>(bytes));
      made = result < 0 ? 0 : static_cast<std::size_t>(result);
    } else {
      ZSTD_DCtx* context = thread_zstd_context();
      if (context == nullptr) return Error(ErrorCode::kOutOfBudget, "no memory for a decompressor");
      made = ZSTD_decompressDCtx(context, block.data(), bytes, packed.data(), packed.size());
      if (ZSTD_isError(made)) made = 0;
    }
    if (made != bytes) return corrupt(fmt::format("damaged block after {} of {} bytes", done, total));
    return std::span<const std::byte>(block);
  }

  std::uint64_t element_bytes_;
  std::uint64_t block_elements_;
  Packing packing_;
  std::string setting_;
};

}  // namespace

Result<std::unique_ptr<Codec>> make_bitshuffle(const FilterSpec& spec, const ChunkForm& /*form*/) {
  const auto value = [&](std::size_t i) { return i < spec.parameters.size() ? spec.parameters[i] : 0; };
  const std::uint64_t element_bytes = value(2);
  if (element_bytes == 0) return corrupt("the bitshuffle filter does not say its element size");
  const std::uint64_t block_elements = value(3) != 0 ? value(3) : default_block_elements(element_bytes);
  if (block_elements % kGroup != 0)
    return corrupt(fmt::format("blocks of {} elements, a multiple of {} is expected", block_elements, kGroup));
  std::string setting;
  switch (value(4)) {
    case 0:
      break;
    case 2:
      setting = "lz4";
      break;
    case 3:
      setting = value(5) == 0 ? "zstd" : fmt::format("zstd-{}", static_cast<std::int32_t>(value(5)));
      break;
    default:
      return Error(ErrorCode::kUnsupported, fmt::format("bitshuffle with unknown compression {}", value(4)));
  }
  return std::unique_ptr<Codec>(
      std::make_unique<Bitshuffle>(element_bytes, block_elements, static_cast<Packing>(value(4)), std::move(setting)));
}

}  // namespace headrace
