// Classes of bytes as masks: a bit for each byte says its class, so that rules about neighbours become arithmetic on 64
// bits at a time, instead of a look at each character.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headrace::tokenizing {

inline constexpr std::uint64_t kOne = 1;

/// A bit for each of 64 bytes. All bytes of a character have its class; in none of the three, it is another one.
struct ClassBits {
  std::uint64_t letters = 0, numbers = 0, spaces = 0;
  std::uint64_t blanks = 0;       ///< The space of ASCII.
  std::uint64_t newlines = 0;     ///< \r and \n.
  std::uint64_t apostrophes = 0;  ///< That of ASCII.
  std::uint64_t high = 0;         ///< Bytes above ASCII.
  std::uint64_t tails = 0;        ///< All bytes of well-formed characters but their first.
};

/// Return bits moved up by one byte: what is true of the byte before. \param before  The bits of the block before.
inline std::uint64_t moved_up(std::uint64_t bits, std::uint64_t before) {
  return bits << 1 | before >> 63;
}

/// The masks of a chunk, block by block.
struct ChunkMasks {
  std::size_t blocks = 0;             ///< Without the one behind the chunk.
  std::size_t left = 0;               ///< Bytes until the text ends.
  std::vector<ClassBits> classes;     ///< Those of the block behind the chunk too.
  std::vector<std::uint64_t> starts;  ///< A word begins here; one block more, as above.
  bool has_wide_spaces = false;       ///< There is whitespace of several bytes.
  bool is_open = false;               ///< What follows the chunk decides where its last word ends.

  /// Return what stands before something other than whitespace. The last byte of a text does not, so that whitespace
  /// there stays one word.
  [[nodiscard]] std::uint64_t text_follows(std::size_t block) const {
    const std::uint64_t behind = left <= (block + 1) * 64 ? 1 : classes[block + 1].spaces & 1;
    const std::uint64_t bits = ~(classes[block].spaces >> 1 | behind << 63);
    return left < (block + 1) * 64 ? bits & ((std::uint64_t{1} << (left - block * 64 - 1)) - 1) : bits;
  }
};

/// Classify `blocks` times 64 bytes at `p`, where a character begins, and as many behind them. Bytes behind `end` are
/// of no class.
void classify(const std::uint8_t* p, std::size_t blocks, const std::uint8_t* end, ChunkMasks& masks);

/// Find where words of GPT-2 begin, but for what contractions and wide whitespace change.
void find_gpt2_starts(ChunkMasks& masks);
/// Find where words of cl100k and Llama 3 begin, but for the same. \param whole_at_end  Whitespace at the end of the
/// text is one word.
void find_cl100k_starts(bool whole_at_end, ChunkMasks& masks);

}  // namespace headrace::tokenizing
