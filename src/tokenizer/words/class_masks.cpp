#include "tokenizer/words/class_masks.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tokenizer/words/character.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tokenizer/words/class_masks.cpp"
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

/// \param count  Below 64.
std::uint64_t lowest(std::size_t count) {
  return (kOne << count) - 1;
}

/// Gives bytes of characters above ASCII the class of their character, block after block. Bytes of ill-formed UTF-8 are
/// left in none.
class WideCharacters {
 public:
  WideCharacters(const std::uint8_t* begin, const std::uint8_t* end, ChunkMasks& masks)
      : begin_(begin), end_(end), masks_(masks) {}

  void add(std::size_t block) {
    const std::uint8_t* p = begin_ + block * 64;
    const auto left = static_cast<std::size_t>(end_ - p);
    std::uint8_t rest[128] = {};
    const std::uint8_t* readable = p;
    if (left < 128) readable = rest, std::copy_n(p, left, rest);
    const LetterLeads now = next_block_ == block ? next_leads_ : HWY_DYNAMIC_DISPATCH(FindLetterLeads)(readable);
    next_leads_ = HWY_DYNAMIC_DISPATCH(FindLetterLeads)(readable + 64);
    next_block_ = block + 1;
    spilled_ = {};
    const std::uint64_t leads = masks_.classes[block].high & ~now.continuations;
    add_rest(block, leads & ~add_letters(block, now));
    if (block == masks_.blocks) return;
    ClassBits& next = masks_.classes[block + 1];
    next.letters |= spilled_.letters;
    next.numbers |= spilled_.numbers;
    next.spaces |= spilled_.spaces;
    next.tails |= spilled_.tails;
  }

 private:
  /// Adds characters whose first byte says that they are letters. \return Those bytes.
  std::uint64_t add_letters(std::size_t block, const LetterLeads& now) {
    const std::uint64_t second = now.continuations >> 1 | next_leads_.continuations << 63;
    const std::uint64_t third = now.continuations >> 2 | next_leads_.continuations << 62;
    const std::uint64_t three = now.three & second & third, leads = (now.two & second) | three;
    const std::uint64_t tails = leads << 1 | three << 2;
    masks_.classes[block].letters |= leads | tails;
    masks_.classes[block].tails |= tails;
    spilled_.letters = spilled_.tails = leads >> 63 | three >> 62;
    return leads;
  }

  /// Looks at characters one by one. Where they begin is known, so that none waits for the one before it.
  void add_rest(std::size_t block, std::uint64_t leads) {
    const CharacterClass* classes = unicode_classes();
    const std::uint8_t* p = begin_ + block * 64;
    ClassBits found;
    for (; leads != 0; leads &= leads - 1) {
      const auto at = static_cast<std::size_t>(std::countr_zero(leads));
      const Character character = character_at(classes, p + at, end_);
      const std::uint64_t bytes = lowest(character.bytes), all = bytes << at;
      const auto if_is = [&](CharacterClass kind) { return character.kind == kind ? ~std::uint64_t{0} : 0; };
      found.letters |= all & if_is(CharacterClass::kLetter);
      found.numbers |= all & if_is(CharacterClass::kNumber);
      found.spaces |= all & if_is(CharacterClass::kSpace);
      found.tails |= (bytes & ~kOne) << at;
      if (at + character.bytes <= 64) [[likely]]
        continue;
      const std::uint64_t over = bytes >> (64 - at);
      spilled_.letters |= over & if_is(CharacterClass::kLetter);
      spilled_.numbers |= over & if_is(CharacterClass::kNumber);
      spilled_.spaces |= over & if_is(CharacterClass::kSpace);
      spilled_.tails |= over;
    }
    ClassBits& bits = masks_.classes[block];
    bits.letters |= found.letters;
    bits.numbers |= found.numbers;
    bits.spaces |= found.spaces;
    bits.tails |= found.tails;
    masks_.has_wide_spaces |= found.spaces != 0;
  }

  const std::uint8_t *begin_, *end_;
  ChunkMasks& masks_;
  ClassBits spilled_;  ///< Bytes in the next block whose character begins in this one.
  LetterLeads next_leads_;
  std::size_t next_block_ = ~std::size_t{0};  ///< Whose next_leads_ are.
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
