#include "tokenizer/gpt2_masks.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tokenizer/character.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tokenizer/gpt2_masks.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef HEADRACE_TOKENIZER_CLASS_BITS
#define HEADRACE_TOKENIZER_CLASS_BITS
namespace headrace::tokenizing {
/// A bit for each of 64 bytes, for each of the classes that ASCII decides.
struct ClassBits {
  std::uint64_t letters = 0, numbers = 0, spaces = 0, blanks = 0, apostrophes = 0, high = 0;
};
}  // namespace headrace::tokenizing
#endif

HWY_BEFORE_NAMESPACE();
namespace headrace::tokenizing {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Classify blocks of 64 bytes, all of which are there to be read.
void ClassifyBlocks(const std::uint8_t* p, std::size_t blocks, ClassBits* out) {
  const hn::CappedTag<std::uint8_t, 64> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto bits_of = [&](auto mask) {
    std::uint8_t stored[16] = {};
    hn::StoreMaskBits(d, mask, stored);
    std::uint64_t bits;
    std::memcpy(&bits, stored, 8);
    return lanes < 64 ? bits & ((std::uint64_t{1} << lanes) - 1) : bits;
  };
  for (std::size_t b = 0; b < blocks; ++b, p += 64) {
    ClassBits all;
    for (std::size_t i = 0; i < 64; i += lanes) {
      const auto v = hn::LoadU(d, p + i);
      const auto range = [&](auto x, std::uint8_t first, std::uint8_t count) {
        return hn::Lt(hn::Sub(x, hn::Set(d, first)), hn::Set(d, count));
      };
      all.letters |= bits_of(range(hn::Or(v, hn::Set(d, std::uint8_t{0x20})), 'a', 26)) << i;
      all.numbers |= bits_of(range(v, '0', 10)) << i;
      all.blanks |= bits_of(hn::Eq(v, hn::Set(d, std::uint8_t{' '}))) << i;
      all.spaces |= bits_of(range(v, '\t', 5)) << i;
      all.apostrophes |= bits_of(hn::Eq(v, hn::Set(d, std::uint8_t{'\''}))) << i;
      all.high |= bits_of(hn::Gt(v, hn::Set(d, std::uint8_t{0x7F}))) << i;
    }
    all.spaces |= all.blanks;
    out[b] = all;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace headrace::tokenizing
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::tokenizing {

HWY_EXPORT(ClassifyBlocks);

namespace {

constexpr std::uint64_t kOne = 1;

/// Gives bytes of characters above ASCII the class of their character. A character may begin in the block before, never
/// before `begin`. False: one is whitespace.
bool add_wide_characters(const std::uint8_t* begin, const std::uint8_t* block, const std::uint8_t* end,
                         ClassBits& bits) {
  const CharacterClass* classes = unicode_classes();
  for (std::uint64_t high = bits.high; high != 0;) {
    const int i = std::countr_zero(high);
    if (block + i >= end) break;
    const std::uint8_t* p = block + i;
    while (p > begin && block + i - p < 3 && (*p & 0xC0) == 0x80) --p;
    const Character character = character_at(classes, p, end);
    const std::uint8_t* after = p + character.bytes;
    if (after <= block + i) {  // a continuation that nothing began
      high &= high - 1;
      continue;
    }
    if (character.kind == CharacterClass::kSpace) return false;
    const std::ptrdiff_t last = std::min<std::ptrdiff_t>(after - block, 64);
    const std::uint64_t covered = (last == 64 ? ~std::uint64_t{0} : (kOne << last) - 1) & ~((kOne << i) - 1);
    high &= ~covered;
    if (character.kind == CharacterClass::kLetter) bits.letters |= covered;
    if (character.kind == CharacterClass::kNumber) bits.numbers |= covered;
  }
  return true;
}

/// The masks of a chunk, and those of the block behind it.
struct ChunkMasks {
  std::vector<ClassBits> classes;
  std::vector<std::uint64_t> starts;       ///< A word begins here.
  std::vector<std::uint64_t> apostrophes;  ///< Those before letters.
};

bool classify(const std::uint8_t* p, std::size_t blocks, const std::uint8_t* end, ChunkMasks& masks) {
  masks.classes.assign(blocks + 1, {});
  const std::size_t there = std::min(blocks + 1, static_cast<std::size_t>(end - p) / 64);
  HWY_DYNAMIC_DISPATCH(ClassifyBlocks)(p, there, masks.classes.data());
  if (there < blocks + 1) {  // the last bytes of the text, and zeros
    std::uint8_t rest[64] = {};
    std::copy(p + there * 64, end, rest);
    HWY_DYNAMIC_DISPATCH(ClassifyBlocks)(rest, 1, &masks.classes[there]);
  }
  for (std::size_t i = 0; i <= blocks; ++i)
    if (masks.classes[i].high != 0 && !add_wide_characters(p, p + i * 64, end, masks.classes[i])) return false;
  return true;
}

void find_starts(const std::uint8_t* p, std::size_t blocks, const std::uint8_t* end, ChunkMasks& masks) {
  masks.starts.assign(blocks + 1, 0);
  masks.apostrophes.assign(blocks, 0);
  ClassBits before;
  std::uint64_t others_before = 0;
  const auto begins = [](std::uint64_t bits, std::uint64_t bits_before) {
    return bits & ~(bits << 1 | bits_before >> 63);
  };
  for (std::size_t i = 0; i < blocks; ++i) {
    const ClassBits &now = masks.classes[i], &next = masks.classes[i + 1];
    const std::ptrdiff_t left = end - (p + i * 64);
    const std::uint64_t others = ~(now.letters | now.numbers | now.spaces);
    // Does anything but whitespace follow? Not behind the text, so that whitespace at its end stays one word.
    std::uint64_t text_follows = ~(now.spaces >> 1 | (left <= 64 ? kOne : next.spaces & 1) << 63);
    if (left < 64) text_follows &= (kOne << (left - 1)) - 1;
    const std::uint64_t runs =
        begins(now.letters, before.letters) | begins(now.numbers, before.numbers) | begins(others, others_before);
    masks.starts[i] = (runs & ~(now.blanks << 1 | before.blanks >> 63)) |
                      (now.spaces & (~(now.spaces << 1 | before.spaces >> 63) | text_follows));
    masks.apostrophes[i] = now.apostrophes & (now.letters >> 1 | next.letters << 63);
    before = now;
    others_before = others;
  }
  masks.starts[0] |= 1;
}

/// Return the length of 's 't 'm 'd 're 've 'll at `p`, or 0.
std::size_t contraction_at(const std::uint8_t* p, const std::uint8_t* end) {
  const std::uint8_t first = end - p > 1 ? p[1] : 0, second = end - p > 2 ? p[2] : 0;
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  return ((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l') ? 3 : 0;
}

/// Only an apostrophe that begins a word begins a contraction: the letters belong to it, and what follows begins anew.
void find_contractions(const std::uint8_t* p, std::size_t blocks, const std::uint8_t* end, ChunkMasks& masks) {
  for (std::size_t i = 0; i < blocks; ++i)
    for (std::uint64_t some = masks.apostrophes[i] & masks.starts[i]; some != 0; some &= some - 1) {
      const std::size_t at = i * 64 + static_cast<std::size_t>(std::countr_zero(some));
      const std::size_t length = contraction_at(p + at, end);
      if (length == 0) continue;
      masks.starts[(at + 1) / 64] &= ~(kOne << (at + 1) % 64);
      masks.starts[(at + length) / 64] |= kOne << (at + length) % 64;
    }
}

}  // namespace

bool gpt2_word_ends(const std::uint8_t* p, std::size_t size, const std::uint8_t* end,
                    std::vector<std::uint32_t>& ends) {
  static thread_local ChunkMasks masks;
  const std::size_t blocks = (size + 63) / 64;
  if (blocks == 0 || !classify(p, blocks, end, masks)) return false;
  find_starts(p, blocks, end, masks);
  find_contractions(p, blocks, end, masks);
  if (size % 64 != 0) masks.starts[blocks - 1] &= (kOne << size % 64) - 1;
  masks.starts[0] &= ~kOne;
  ends.resize(size + 1);
  std::uint32_t* out = ends.data();
  for (std::size_t i = 0; i < blocks; ++i)
    for (std::uint64_t starts = masks.starts[i]; starts != 0; starts &= starts - 1)
      *out++ = static_cast<std::uint32_t>(i * 64) + static_cast<std::uint32_t>(std::countr_zero(starts));
  *out++ = static_cast<std::uint32_t>(size);
  ends.resize(static_cast<std::size_t>(out - ends.data()));
  return true;
}

}  // namespace headrace::tokenizing
#endif
