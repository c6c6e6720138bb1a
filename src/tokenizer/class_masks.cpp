#include "tokenizer/class_masks.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tokenizer/character.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tokenizer/class_masks.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef HEADRACE_TOKENIZER_LETTER_LEADS
#define HEADRACE_TOKENIZER_LETTER_LEADS
namespace headrace::tokenizing {
/// Bytes with which characters of two and of three bytes begin that are letters, whatever follows; and continuations.
struct LetterLeads {
  std::uint64_t two = 0, three = 0, continuations = 0;
};
}  // namespace headrace::tokenizing
#endif

HWY_BEFORE_NAMESPACE();
namespace headrace::tokenizing {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Calls `classify(v, put)` for the vectors of 64 bytes; `put(bits, mask)` adds a vector's mask to 64 bits.
template <class F>
HWY_INLINE void for_vectors(const std::uint8_t* p, const F& classify) {
  const hn::CappedTag<std::uint8_t, 64> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < 64; i += lanes) {
    const auto put = [&](std::uint64_t& bits, auto mask) {
      std::uint8_t stored[16] = {};
      hn::StoreMaskBits(d, mask, stored);
      std::uint64_t of_vector;
      std::memcpy(&of_vector, stored, 8);
      if (lanes < 64) of_vector &= (std::uint64_t{1} << lanes) - 1;
      bits |= of_vector << i;
    };
    classify(hn::LoadU(d, p + i), put);
  }
}

/// Classify blocks of 64 bytes, all of which are there to be read.
void ClassifyBlocks(const std::uint8_t* p, std::size_t blocks, ClassBits* out) {
  const hn::CappedTag<std::uint8_t, 64> d;
  const auto is = [&](auto v, char byte) { return hn::Eq(v, hn::Set(d, static_cast<std::uint8_t>(byte))); };
  const auto range = [&](auto v, std::uint8_t first, std::uint8_t count) {
    return hn::Lt(hn::Sub(v, hn::Set(d, first)), hn::Set(d, count));
  };
  for (std::size_t b = 0; b < blocks; ++b, p += 64) {
    ClassBits all;
    for_vectors(p, [&](auto v, const auto& put) {
      put(all.letters, range(hn::Or(v, hn::Set(d, std::uint8_t{0x20})), 'a', 26));
      put(all.numbers, range(v, '0', 10));
      put(all.blanks, is(v, ' '));
      put(all.spaces, range(v, '\t', 5));
      put(all.newlines, hn::Or(is(v, '\n'), is(v, '\r')));
      put(all.apostrophes, is(v, '\''));
      put(all.high, hn::Gt(v, hn::Set(d, std::uint8_t{0x7F})));
    });
    all.spaces |= all.blanks;
    out[b] = all;
  }
}

/// U+0400 to U+047F; U+5000 to U+9FFF and U+B000 to U+CFFF, which are letters all (a test sees to it).
LetterLeads FindLetterLeads(const std::uint8_t* p) {
  const hn::CappedTag<std::uint8_t, 64> d;
  const auto range = [&](auto v, std::uint8_t first, std::uint8_t count) {
    return hn::Lt(hn::Sub(v, hn::Set(d, first)), hn::Set(d, count));
  };
  LetterLeads leads;
  for_vectors(p, [&](auto v, const auto& put) {
    put(leads.two, range(v, 0xD0, 2));
    put(leads.three, hn::Or(range(v, 0xE5, 5), range(v, 0xEB, 2)));
    put(leads.continuations, range(v, 0x80, 0x40));
  });
  return leads;
}

}  // namespace HWY_NAMESPACE
}  // namespace headrace::tokenizing
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::tokenizing {

HWY_EXPORT(ClassifyBlocks);
HWY_EXPORT(FindLetterLeads);

namespace {

std::uint64_t lowest(std::size_t count) {
  return count >= 64 ? ~std::uint64_t{0} : (kOne << count) - 1;
}

/// Gives bytes of characters above ASCII the class of their character, block after block.
class WideCharacters {
 public:
  WideCharacters(const std::uint8_t* begin, const std::uint8_t* end, ChunkMasks& masks)
      : begin_(begin), end_(end), masks_(masks) {}

  void add(std::size_t block) {
    ClassBits& bits = masks_.classes[block];
    std::uint64_t high = bits.high & ~lowest(spilled_);
    spilled_ = 0;
    if (block < masks_.blocks && end_ - (begin_ + block * 64) >= 128) {
      high &= ~add_letters(block);
    } else {
      leads_block_ = ~std::size_t{0};
    }
    add_rest(block, high);
  }

 private:
  /// Adds characters whose first byte says that they are letters. \return Their bytes in this block.
  std::uint64_t add_letters(std::size_t block) {
    const std::uint8_t* p = begin_ + block * 64;
    const LetterLeads now = leads_block_ == block ? leads_ : HWY_DYNAMIC_DISPATCH(FindLetterLeads)(p);
    leads_ = HWY_DYNAMIC_DISPATCH(FindLetterLeads)(p + 64);
    leads_block_ = block + 1;
    const std::uint64_t second = now.continuations >> 1 | leads_.continuations << 63;
    const std::uint64_t third = now.continuations >> 2 | leads_.continuations << 62;
    const std::uint64_t three = now.three & second & third, leads = (now.two & second) | three;
    const std::uint64_t tails = leads << 1 | three << 2;
    ClassBits &bits = masks_.classes[block], &next = masks_.classes[block + 1];
    bits.letters |= leads | tails;
    bits.tails |= tails;
    const std::uint64_t spilled = leads >> 63 | three >> 62;
    next.letters |= spilled;
    next.tails |= spilled;
    spilled_ = static_cast<std::size_t>(std::bit_width(spilled));
    return leads | tails;
  }

  void add_rest(std::size_t block, std::uint64_t high) {
    const CharacterClass* classes = unicode_classes();
    const std::uint8_t* p = begin_ + block * 64;
    std::uint64_t kinds[4] = {}, tails = 0;
    while (high != 0) {
      const auto at = static_cast<std::size_t>(std::countr_zero(high));
      if (p + at >= end_) break;
      const Character character = character_at(classes, p + at, end_);
      const std::uint64_t first = kOne << at, all = lowest(character.bytes) << at;
      high &= ~all;
      kinds[static_cast<std::size_t>(character.kind)] |= all;
      tails |= all & ~first;
      if (at + character.bytes > 64) spill(block + 1, character.kind, at + character.bytes - 64);
    }
    ClassBits& bits = masks_.classes[block];
    bits.letters |= kinds[static_cast<std::size_t>(CharacterClass::kLetter)];
    bits.numbers |= kinds[static_cast<std::size_t>(CharacterClass::kNumber)];
    bits.spaces |= kinds[static_cast<std::size_t>(CharacterClass::kSpace)];
    bits.tails |= tails;
    if (kinds[static_cast<std::size_t>(CharacterClass::kSpace)] != 0) masks_.has_wide_spaces = true;
  }

  void spill(std::size_t block, CharacterClass kind, std::size_t count) {
    spilled_ = count;
    if (block > masks_.blocks) return;
    ClassBits& bits = masks_.classes[block];
    if (kind == CharacterClass::kLetter) bits.letters |= lowest(count);
    if (kind == CharacterClass::kNumber) bits.numbers |= lowest(count);
    if (kind == CharacterClass::kSpace) bits.spaces |= lowest(count);
    bits.tails |= lowest(count);
  }

  const std::uint8_t *begin_, *end_;
  ChunkMasks& masks_;
  std::size_t spilled_ = 0;  ///< Bytes of the next block that belong to a character of the last one.
  LetterLeads leads_;
  std::size_t leads_block_ = ~std::size_t{0};  ///< Whose leads_ are.
};

}  // namespace

void classify(const std::uint8_t* p, std::size_t blocks, const std::uint8_t* end, ChunkMasks& masks) {
  masks.blocks = blocks;
  masks.left = static_cast<std::size_t>(end - p);
  masks.has_wide_spaces = masks.is_open = false;
  masks.classes.resize(blocks + 1);
  masks.starts.resize(blocks + 1);
  const std::size_t there = std::min(blocks + 1, masks.left / 64);
  HWY_DYNAMIC_DISPATCH(ClassifyBlocks)(p, there, masks.classes.data());
  if (there < blocks + 1) {  // the last bytes of the text, and zeros
    std::uint8_t rest[64] = {};
    std::copy(p + there * 64, end, rest);
    HWY_DYNAMIC_DISPATCH(ClassifyBlocks)(rest, 1, &masks.classes[there]);
    for (std::size_t i = there + 1; i <= blocks; ++i) masks.classes[i] = {};
  }
  WideCharacters wide(p, end, masks);
  for (std::size_t i = 0; i <= blocks; ++i)
    if (masks.classes[i].high != 0) wide.add(i);
}

}  // namespace headrace::tokenizing
#endif
