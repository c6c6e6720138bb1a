// Re-encoding decoded blocks, so that more of them fit in memory: byte shuffle and LZ4 or zstd-1. Rows are encoded in
// small groups, each by itself: whoever wants some rows of a block decodes those groups alone, in a buffer that stays
// in the processor's cache. On padded jets LZ4 takes a seventh of the memory, and decodes several times as fast as the
// file's own gzip; c-blosc's frames of the same groups decode at 0.55 of this speed (docs/decisions/0009).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cache/block_form.h"

namespace headrace {

enum class BlockCoding : std::uint8_t { kRaw, kLz4, kZstd };
/// "decoded", "shuffle + LZ4", "shuffle + zstd-1".
std::string_view to_string(BlockCoding coding);

/// One block's rows, encoded: field after field, group after group.
struct CodedBlock {
  BlockCoding coding = BlockCoding::kLz4;
  std::vector<std::uint32_t> ends;  ///< Of each group, in the bytes.
};

/// Rows of a group: as many as make some 8 KiB.
std::uint64_t group_rows(const BlockForm& form, std::size_t field);
/// Scratch of decode_group(): the largest group of any field, twice.
std::uint64_t group_scratch_bytes(const BlockForm& form);
/// Largest result of encode_block().
std::uint64_t most_coded_bytes(const BlockForm& form, std::uint64_t rows);
/// Can blocks of so many rows be encoded at all? Not from 2 GiB on.
bool can_encode(const BlockForm& form, std::uint64_t rows);
/// Encode the block (see BlockForm) into `out`, of most_coded_bytes(). Errors: kInternal.
Result<CodedBlock> encode_block(const BlockForm& form, std::uint64_t rows, BlockCoding coding, const std::byte* block,
                                std::span<std::byte> out);
/// Decode one group of a field's rows. \return Where it lies in `scratch`, of group_scratch_bytes(). Errors: kInternal:
/// memory was damaged.
Result<const std::byte*> decode_group(const BlockForm& form, std::uint64_t rows, const CodedBlock& coded,
                                      std::span<const std::byte> bytes, std::size_t field, std::uint64_t group,
                                      std::span<std::byte> scratch);

/// What one block showed of a coding.
struct CodingTrial {
  BlockCoding coding = BlockCoding::kRaw;
  double coded_share = 1;               ///< Encoded bytes over decoded ones.
  double encode_ns = 0, decode_ns = 0;  ///< A block.
};
/// What is compared: a run of five epochs, the first of which encodes.
struct CodingCase {
  double miss_ns = 0;       ///< To read and decode a block from its file.
  double decodes = 1;       ///< How often an epoch does that with a block which is not kept.
  double decoded_room = 0;  ///< Memory for decoded blocks, as a share of the decoded data.
  double encoded_room = 0;  ///< Memory for encoded ones, as a share of the decoded data.
};
/// The trial with the shortest run; null: keeping decoded blocks is as good.
const CodingTrial* choose_coding(std::span<const CodingTrial> trials, const CodingCase& c);

}  // namespace headrace
