#include "cache/block_coder.h"

#include <blosc.h>
#include <fmt/format.h>

#include <algorithm>

namespace headrace {
namespace {

constexpr double kWorthwhile = 0.95;  // an encoding must shorten later epochs by this much to be worth its trouble

}  // namespace

std::string_view to_string(BlockCoding coding) {
  switch (coding) {
    case BlockCoding::kRaw:
      return "decoded";
    case BlockCoding::kLz4:
      return "shuffle + LZ4";
    case BlockCoding::kZstd:
      return "shuffle + zstd-1";
  }
  return "decoded";
}

std::uint64_t most_coded_bytes(const BlockForm& form, std::uint64_t rows) {
  return form.bytes(rows) + form.num_fields() * BLOSC_MAX_OVERHEAD;
}

bool can_encode(const BlockForm& form, std::uint64_t rows) {
  for (std::size_t f = 0; f < form.num_fields(); ++f)
    if (rows * form.row_bytes(f) > BLOSC_MAX_BUFFERSIZE) return false;
  return true;
}

Result<CodedBlock> encode_block(const BlockForm& form, std::uint64_t rows, BlockCoding coding, const std::byte* block,
                                std::span<std::byte> out) {
  CodedBlock coded;
  std::uint64_t end = 0;
  for (std::size_t f = 0; f < form.num_fields(); ++f) {
    const std::uint64_t bytes = rows * form.row_bytes(f);
    const int written =
        blosc_compress_ctx(coding == BlockCoding::kZstd ? 1 : 5, BLOSC_SHUFFLE, form.element_bytes(f), bytes,
                           block + form.offset(f, rows), out.data() + end, out.size() - end,
                           coding == BlockCoding::kZstd ? BLOSC_ZSTD_COMPNAME : BLOSC_LZ4_COMPNAME, 0, 1);
    if (written <= 0) return Error(ErrorCode::kInternal, fmt::format("c-blosc does not encode {} bytes", bytes));
    coded.ends.push_back(end += static_cast<std::uint64_t>(written));
  }
  return coded;
}

Status decode_block(const BlockForm& form, std::uint64_t rows, const CodedBlock& coded,
                    std::span<const std::byte> bytes, std::byte* block) {
  std::uint64_t begin = 0;
  for (std::size_t f = 0; f < form.num_fields(); ++f) {
    const std::uint64_t size = rows * form.row_bytes(f);
    std::size_t stored = 0;
    const std::uint64_t end = coded.ends[f];
    const bool sane = end <= bytes.size() && blosc_cbuffer_validate(bytes.data() + begin, end - begin, &stored) == 0 &&
                      stored == size;
    if (!sane ||
        blosc_decompress_ctx(bytes.data() + begin, block + form.offset(f, rows), size, 1) != static_cast<int>(size))
      return std::move(Error(ErrorCode::kInternal, "a block that was kept encoded in memory is damaged")
                           .with_hint("Test this machine's memory."));
    begin = end;
  }
  return {};
}

BlockCoding choose_coding(std::span<const CodingTrial> trials, double miss_ns, double held_share) {
  // Nanoseconds a block of a later epoch. A block that is used once an epoch is found if it is among those that fit;
  // decoded ones cost nothing but the moving of rows, which all have in common.
  BlockCoding best = BlockCoding::kRaw;
  double best_ns = (1 - std::min(held_share, 1.0)) * miss_ns * kWorthwhile;
  for (const CodingTrial& t : trials) {
    const double hits = std::min(held_share / t.coded_share, 1.0);
    const double ns = hits * t.decode_ns + (1 - hits) * miss_ns;
    if (ns < best_ns) best_ns = ns, best = t.coding;
  }
  return best;
}

}  // namespace headrace
