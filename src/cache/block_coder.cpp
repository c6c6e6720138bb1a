#include "cache/block_coder.h"

#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <memory>

#include "codec/byte_planes.h"
#include "codec/unshuffle.h"

namespace headrace {
namespace {

constexpr std::uint64_t kGroupBytes = 8 << 10;
constexpr double kWorthwhile = 0.95;  // an encoding must shorten a run by this much to be worth its trouble
constexpr double kEpochs = 5;         // that a run has, if nobody knows

std::uint64_t num_groups(const BlockForm& form, std::size_t field, std::uint64_t rows) {
  const std::uint64_t group = group_rows(form, field);
  return (rows + group - 1) / group;
}

/// Byte planes of elements: the inverse of unshuffle(). \return `planes`, or `from` where elements are single bytes.
const std::byte* shuffle(const std::byte* from, std::uint64_t bytes, std::uint32_t element_bytes, std::byte* planes) {
  if (element_bytes == 1) return from;
  split_planes(std::bit_cast<const std::uint8_t*>(from), bytes / element_bytes, element_bytes,
               std::bit_cast<std::uint8_t*>(planes));
  return planes;
}

struct ZstdContexts {
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> encoder{ZSTD_createCCtx(), ZSTD_freeCCtx};
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> decoder{ZSTD_createDCtx(), ZSTD_freeDCtx};
};
ZstdContexts& zstd() {
  thread_local ZstdContexts contexts;
  return contexts;
}

/// \return Bytes written; 0 for an error. Groups are far below 2 GiB.
std::uint64_t encode_lz4(const std::byte* from, std::uint64_t bytes, std::span<std::byte> out) {
  return static_cast<std::uint64_t>(std::max(
      LZ4_compress_default(std::bit_cast<const char*>(from), std::bit_cast<char*>(out.data()), static_cast<int>(bytes),
                           static_cast<int>(std::min<std::uint64_t>(out.size(), 1U << 30))),
      0));
}
std::uint64_t encode_zstd(const std::byte* from, std::uint64_t bytes, std::span<std::byte> out) {
  const std::size_t written = ZSTD_compressCCtx(zstd().encoder.get(), out.data(), out.size(), from, bytes, 1);
  return ZSTD_isError(written) ? 0 : written;
}
std::uint64_t decode_lz4(std::span<const std::byte> in, std::byte* out, std::uint64_t bytes) {
  return static_cast<std::uint64_t>(
      std::max(LZ4_decompress_safe(std::bit_cast<const char*>(in.data()), std::bit_cast<char*>(out),
                                   static_cast<int>(in.size()), static_cast<int>(bytes)),
               0));
}
std::uint64_t decode_zstd(std::span<const std::byte> in, std::byte* out, std::uint64_t bytes) {
  const std::size_t got = ZSTD_decompressDCtx(zstd().decoder.get(), out, bytes, in.data(), in.size());
  return ZSTD_isError(got) ? 0 : got;
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

std::uint64_t group_scratch_bytes(const BlockForm& form) {
  std::uint64_t most = 0;
  for (std::size_t f = 0; f < form.num_fields(); ++f) most = std::max(most, group_rows(form, f) * form.row_bytes(f));
  return 2 * most;
}

std::uint64_t most_coded_bytes(const BlockForm& form, std::uint64_t rows) {
  std::uint64_t bytes = group_scratch_bytes(form);  // a shuffled group, at the end
  for (std::size_t f = 0; f < form.num_fields(); ++f) {
    const std::uint64_t group = group_rows(form, f) * form.row_bytes(f);
    bytes += num_groups(form, f, rows) * (group + group / 128 + 1024);  // more than either library's bound
  }
  return bytes;
}

bool can_encode(const BlockForm& form, std::uint64_t rows) {
  return most_coded_bytes(form, rows) < std::uint64_t{1} << 31;
}

Result<CodedBlock> encode_block(const BlockForm& form, std::uint64_t rows, BlockCoding coding, const std::byte* block,
                                std::span<std::byte> out) {
  CodedBlock coded;
  coded.coding = coding;
  std::uint64_t end = 0;
  std::byte* const planes = out.data() + out.size() - group_scratch_bytes(form) / 2;
  for (std::size_t f = 0; f < form.num_fields(); ++f) {
    const std::byte* from = block + form.offset(f, rows);
    const std::uint64_t group = group_rows(form, f);
    for (std::uint64_t row = 0; row < rows; row += group) {
      const std::uint64_t bytes = std::min(group, rows - row) * form.row_bytes(f);
      if (bytes > 0) {
        const std::span<std::byte> room = out.subspan(end, out.size() - end - group_scratch_bytes(form) / 2);
        const std::uint64_t written =
            coding == BlockCoding::kZstd ? encode_zstd(shuffle(from, bytes, form.element_bytes(f), planes), bytes, room)
                                         : encode_lz4(shuffle(from, bytes, form.element_bytes(f), planes), bytes, room);
        if (written == 0) return Error(ErrorCode::kInternal, "a group of rows was not encoded");
        end += written;
      }
      coded.ends.push_back(static_cast<std::uint32_t>(end));
      from += bytes;
    }
  }
  return coded;
}

Result<const std::byte*> decode_group(const BlockForm& form, std::uint64_t rows, const CodedBlock& coded,
                                      std::span<const std::byte> bytes, std::size_t field, std::uint64_t group,
                                      std::span<std::byte> scratch) {
  std::uint64_t index = group;
  for (std::size_t f = 0; f < field; ++f) index += num_groups(form, f, rows);
  const std::uint64_t most = group_rows(form, field), first = group * most;
  const std::uint64_t size = std::min(most, rows - first) * form.row_bytes(field);
  const std::uint64_t begin = index == 0 ? 0 : coded.ends[index - 1], end = coded.ends[index];
  const std::uint32_t element = form.element_bytes(field);
  if (size == 0) return scratch.data();
  std::byte* const planes = scratch.data();
  std::byte* const out = planes + scratch.size() / 2;
  const bool sane = begin < end && end <= bytes.size();
  if (!sane ||
      (coded.coding == BlockCoding::kZstd ? decode_zstd(bytes.subspan(begin, end - begin), planes, size)
                                          : decode_lz4(bytes.subspan(begin, end - begin), planes, size)) != size)
    return std::move(Error(ErrorCode::kInternal, "a block that was kept encoded in memory is damaged")
                         .with_hint("Test this machine's memory."));
  if (element == 1) return planes;
  unshuffle(std::bit_cast<const std::uint8_t*>(planes), size / element, element, std::bit_cast<std::uint8_t*>(out));
  return out;
}

const CodingTrial* choose_coding(std::span<const CodingTrial> trials, const CodingCase& c) {
  // Nanoseconds a block, over the run. A block that is used once an epoch is found if it is among those that fit;
  // decoded ones cost nothing but the moving of rows, which all have in common.
  const auto run_ns = [&](double hits, double encode_ns, double hit_ns) {
    const double miss = (1 - hits) * c.decodes * c.miss_ns;
    return hits * (c.miss_ns + encode_ns + (kEpochs - 1) * hit_ns) + kEpochs * miss;
  };
  const CodingTrial* best = nullptr;
  double best_ns = run_ns(std::min(c.decoded_room, 1.0), 0, 0) * kWorthwhile;
  for (const CodingTrial& t : trials) {
    const double ns = run_ns(std::min(c.encoded_room / t.coded_share, 1.0), t.encode_ns, t.decode_ns);
    if (ns < best_ns) best_ns = ns, best = &t;
  }
  return best;
}

}  // namespace headrace
