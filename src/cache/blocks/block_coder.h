// Re-encoding decoded blocks, so that more of them fit in memory: LZ4 with or without a byte shuffle before it, or
// byte shuffle and zstd-1. Small pieces are encoded, each by itself: a reader of some rows of a block decodes those
// pieces alone, in a buffer that stays in the processor's cache. A piece that is one element over and over (padding) is
// kept as that element, one that does not compress as it is. On padded jets plain LZ4 takes a seventh of the memory,
// and decodes several times as fast as the file's own gzip (docs/decisions/0009).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cache/blocks/block_form.h"
#include "cache/blocks/block_pieces.h"

namespace headrace {

enum class BlockCoding : std::uint8_t { kRaw, kLz4, kShuffleLz4, kShuffleZstd };
/// Those that encode, the cheapest first.
inline constexpr std::array kBlockCodings{BlockCoding::kLz4, BlockCoding::kShuffleLz4, BlockCoding::kShuffleZstd};
/// Return "decoded", "LZ4", "shuffle + LZ4", "shuffle + zstd-1".
std::string_view to_string(BlockCoding coding);

/// One block's rows, encoded: field after field, piece after piece.
struct CodedBlock {
  enum class Kind : std::uint8_t { kCoded, kConstant, kRaw };
  struct Piece {
    std::uint32_t end = 0;  ///< In the bytes; it begins where the one before ends.
    Kind kind = Kind::kCoded;
  };
  BlockCoding coding = BlockCoding::kLz4;
  std::vector<Piece> pieces;
  [[nodiscard]] std::uint64_t bytes() const { return pieces.empty() ? 0 : pieces.back().end; }
};

/// Return the scratch of decode_piece(): the largest piece of any field, twice.
std::uint64_t piece_scratch_bytes(const BlockForm& form);
/// Return the largest result of encode_block().
std::uint64_t most_coded_bytes(const BlockForm& form, std::uint64_t rows);
/// Return whether blocks of so many rows can be encoded at all. Not from 2 GiB on.
bool can_encode(const BlockForm& form, std::uint64_t rows);
/// Encode the block (see BlockForm) into `out`, of most_coded_bytes(). Errors: kInternal.
Result<CodedBlock> encode_block(const BlockForm& form, std::uint64_t rows, BlockCoding coding, const std::byte* block,
                                std::span<std::byte> out);
/// Decode one piece of a field's rows (see Pieces). \return Its elements, in `scratch`, of piece_scratch_bytes(), or in
/// `bytes`. Errors: kInternal: memory was damaged.
Result<std::span<const std::byte>> decode_piece(const BlockForm& form, std::uint64_t rows, const CodedBlock& coded,
                                                std::span<const std::byte> bytes, std::size_t field,
                                                std::uint64_t piece, std::span<std::byte> scratch);

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
/// Return the trial with the shortest run; null: keeping decoded blocks is as good.
const CodingTrial* choose_coding(std::span<const CodingTrial> trials, const CodingCase& c);

}  // namespace headrace
