// Re-encoding decoded blocks, so that more of them fit in memory: byte shuffle and LZ4 or zstd-1, by c-blosc. On padded
// jets either takes a third to a sixth of the memory and decodes several times as fast as the file's own gzip.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/page_buffer.h"
#include "base/result.h"
#include "cache/block_form.h"

namespace headrace {

enum class BlockCoding : std::uint8_t { kRaw, kLz4, kZstd };
/// "decoded", "shuffle + LZ4", "shuffle + zstd-1".
std::string_view to_string(BlockCoding coding);

/// One block's rows encoded, field after field.
struct CodedBlock {
  std::vector<std::uint64_t> ends;  ///< Of each field, in the bytes.
};

/// Largest result of encode_block().
std::uint64_t most_coded_bytes(const BlockForm& form, std::uint64_t rows);
/// Can blocks of so many rows be encoded at all? Not from 2 GiB a field on.
bool can_encode(const BlockForm& form, std::uint64_t rows);
/// Encode the block in `rows_of_fields` (see BlockForm) into `out`, of most_coded_bytes(). Errors: kInternal.
Result<CodedBlock> encode_block(const BlockForm& form, std::uint64_t rows, BlockCoding coding, const std::byte* block,
                                std::span<std::byte> out);
/// Back into a block of BlockForm. Errors: kInternal: memory was damaged.
Status decode_block(const BlockForm& form, std::uint64_t rows, const CodedBlock& coded,
                    std::span<const std::byte> bytes, std::byte* block);

/// What one block showed of a coding.
struct CodingTrial {
  BlockCoding coding = BlockCoding::kRaw;
  double coded_share = 1;  ///< Encoded bytes over decoded ones.
  double decode_ns = 0;    ///< A block.
};
/// The coding with the shortest later epochs. \param trials  Of encodings. \param miss_ns  To read and decode a block
/// from its file. \param held_share  Share of the decoded data that fits as it is.
BlockCoding choose_coding(std::span<const CodingTrial> trials, double miss_ns, double held_share);

}  // namespace headrace
