#include "cache/block_coder.h"

#include <blosc.h>
#include <fmt/format.h>

#include <algorithm>

namespace headrace {
namespace {

constexpr std::uint64_t kGroupBytes = 32 << 10;
constexpr double kWorthwhile = 0.95;  // an encoding must shorten a run by this much to be worth its trouble
constexpr double kEpochs = 3;         // that a run has, if nobody knows

std::uint64_t num_groups(const BlockForm& form, std::size_t field, std::uint64_t rows) {
  const std::uint64_t group = group_rows(form, field);
  return (rows + group - 1) / group;
}

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

std::uint64_t group_rows(const BlockForm& form, std::size_t field) {
  return std::max<std::uint64_t>(kGroupBytes / std::max<std::uint64_t>(form.row_bytes(field), 1), 1);
}

std::uint64_t most_group_bytes(const BlockForm& form) {
  std::uint64_t most = 0;
  for (std::size_t f = 0; f < form.num_fields(); ++f) most = std::max(most, group_rows(form, f) * form.row_bytes(f));
  return most;
}

std::uint64_t most_coded_bytes(const BlockForm& form, std::uint64_t rows) {
  std::uint64_t bytes = 0;
  for (std::size_t f = 0; f < form.num_fields(); ++f)
    bytes += rows * form.row_bytes(f) + num_groups(form, f, rows) * BLOSC_MAX_OVERHEAD;
  return bytes;
}

bool can_encode(const BlockForm& form, std::uint64_t rows) {
  return most_coded_bytes(form, rows) <= BLOSC_MAX_BUFFERSIZE;
}

Result<CodedBlock> encode_block(const BlockForm& form, std::uint64_t rows, BlockCoding coding, const std::byte* block,
                                std::span<std::byte> out) {
  CodedBlock coded;
  std::uint64_t end = 0;
  const bool zstd = coding == BlockCoding::kZstd;
  for (std::size_t f = 0; f < form.num_fields(); ++f) {
    const std::byte* from = block + form.offset(f, rows);
    const std::uint64_t group = group_rows(form, f);
    for (std::uint64_t row = 0; row < rows; row += group) {
      const std::uint64_t bytes = std::min(group, rows - row) * form.row_bytes(f);
      if (bytes == 0) {  // a field of no elements
        coded.ends.push_back(static_cast<std::uint32_t>(end));
        continue;
      }
      const int written =
          blosc_compress_ctx(zstd ? 1 : 5, BLOSC_SHUFFLE, form.element_bytes(f), bytes, from, out.data() + end,
                             out.size() - end, zstd ? BLOSC_ZSTD_COMPNAME : BLOSC_LZ4_COMPNAME, 0, 1);
      if (written <= 0) return Error(ErrorCode::kInternal, fmt::format("c-blosc does not encode {} bytes", bytes));
      coded.ends.push_back(static_cast<std::uint32_t>(end += static_cast<std::uint64_t>(written)));
      from += bytes;
    }
  }
  return coded;
}

Status decode_group(const BlockForm& form, std::uint64_t rows, const CodedBlock& coded,
                    std::span<const std::byte> bytes, std::size_t field, std::uint64_t group, std::byte* out) {
  std::uint64_t index = group;
  for (std::size_t f = 0; f < field; ++f) index += num_groups(form, f, rows);
  const std::uint64_t most = group_rows(form, field), first = group * most;
  const std::uint64_t size = std::min(most, rows - first) * form.row_bytes(field);
  if (size == 0) return {};
  const std::uint64_t begin = index == 0 ? 0 : coded.ends[index - 1], end = coded.ends[index];
  std::size_t stored = 0;
  const bool sane = end <= bytes.size() && begin < end &&
                    blosc_cbuffer_validate(bytes.data() + begin, end - begin, &stored) == 0 && stored == size;
  if (!sane || blosc_decompress_ctx(bytes.data() + begin, out, size, 1) != static_cast<int>(size))
    return std::move(Error(ErrorCode::kInternal, "a block that was kept encoded in memory is damaged")
                         .with_hint("Test this machine's memory."));
  return {};
}

const CodingTrial* choose_coding(std::span<const CodingTrial> trials, double miss_ns, double held_share) {
  // Nanoseconds a block, over the run. A block that is used once an epoch is found if it is among those that fit;
  // decoded ones cost nothing but the moving of rows, which all have in common.
  const auto run_ns = [&](double hits, double encode_ns, double hit_ns) {
    return miss_ns + hits * encode_ns + (kEpochs - 1) * (hits * hit_ns + (1 - hits) * miss_ns);
  };
  const CodingTrial* best = nullptr;
  double best_ns = run_ns(std::min(held_share, 1.0), 0, 0) * kWorthwhile;
  for (const CodingTrial& t : trials) {
    const double ns = run_ns(std::min(held_share / t.coded_share, 1.0), t.encode_ns, t.decode_ns);
    if (ns < best_ns) best_ns = ns, best = &t;
  }
  return best;
}

}  // namespace headrace
