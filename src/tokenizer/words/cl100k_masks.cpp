// Where words of cl100k begin, in masks of 64 bytes: the fast form of what grammar.cpp has.
#include <algorithm>
#include <bit>

#include "tokenizer/words/class_masks.h"

namespace headrace::tokenizing {
namespace {

/// Numbers are divided after each third digit, of however many bytes.
class ThreeDigits {
 public:
  /// Return where words begin. \param begins  Where runs of numbers do.
  std::uint64_t starts(const ClassBits& bits, std::uint64_t begins) {
    const std::uint64_t numbers = bits.numbers, pairs = numbers & numbers << 1;
    const bool goes_on = (numbers & ~begins & kOne) != 0, will_go_on = numbers >> 63 != 0;
    if ((pairs & pairs << 2) == 0 && !goes_on && !will_go_on) return begins;
    std::uint64_t starts = 0;
    for (std::uint64_t digits = numbers & ~bits.tails; digits != 0; digits &= digits - 1) {
      const std::uint64_t digit = digits & -digits;
      if ((begins & digit) != 0 || count_ == 3) count_ = 0;
      if (count_++ == 0) starts |= digit;
    }
    return starts;
  }

 private:
  int count_ = 0;  ///< Digits of the last word.
};

/// Bytes of the first character of a run of punctuation: one that is all of it belongs to letters behind it.
class FirstCharacters {
 public:
  std::uint64_t find(std::uint64_t begins, std::uint64_t tails) {
    std::uint64_t all = begins, last = begins;
    for (std::uint64_t& before : before_) {  // characters have four bytes at most
      const std::uint64_t next = moved_up(last, before) & tails;
      before = last;
      last = next;
      all |= last;
    }
    return all;
  }

 private:
  std::uint64_t before_[3] = {};
};

/// Whitespace behind the last newline of a run is a word of its own. It is known to be the last one where the run ends.
class AfterNewline {
 public:
  explicit AfterNewline(ChunkMasks& masks) : masks_(masks) {}

  /// Begin words behind newlines, and take them back where another newline, or one of `ends`, ends the whitespace.
  void add(std::size_t block, std::uint64_t begins, std::uint64_t spaces, std::uint64_t ends) {
    masks_.starts[block] |= begins;
    std::uint64_t sum = spaces + begins;
    const bool goes_on = sum < spaces;
    const std::uint64_t with_open = sum + (is_open_ ? 1 : 0);
    const bool overflows = with_open < sum;
    sum = with_open;
    for (std::uint64_t wrong = sum & ~spaces & ends; wrong != 0; wrong &= wrong - 1) {
      const std::uint64_t behind = (wrong & -wrong) - 1, here = begins & behind;
      if (here != 0) {
        masks_.starts[block] &= ~std::bit_floor(here);
      } else {
        take_open_back();
      }
    }
    is_open_ = goes_on || overflows;
    if (begins != 0) last_block_ = block, last_ = std::bit_floor(begins);
  }
  [[nodiscard]] bool is_open() const { return is_open_; }
  void take_open_back() { masks_.starts[last_block_] &= ~last_; }

 private:
  ChunkMasks& masks_;
  bool is_open_ = false;        ///< The whitespace behind the last newline reaches the next block.
  std::size_t last_block_ = 0;  ///< Where the last one began.
  std::uint64_t last_ = 0;
};

}  // namespace

void find_cl100k_starts(bool whole_at_end, ChunkMasks& masks) {
  ClassBits before;
  std::uint64_t others_before = 0, firsts_before = 0, own_spaces_before = 0, taken_before = 0;
  ThreeDigits three_digits;
  FirstCharacters first_characters;
  AfterNewline after_newline(masks);
  for (std::size_t i = 0; i < masks.blocks; ++i) {
    const ClassBits& now = masks.classes[i];
    const std::uint64_t others = ~(now.letters | now.numbers | now.spaces);
    const std::uint64_t soft = now.spaces & ~now.newlines, soft_before = before.spaces & ~before.newlines;
    // Newlines right behind punctuation belong to it: a sum runs through them.
    const std::uint64_t first_taken = now.newlines & moved_up(others, others_before | taken_before);
    const std::uint64_t taken = now.newlines & ~(now.newlines + first_taken);
    const std::uint64_t own_spaces = now.spaces & ~taken, own_newlines = now.newlines & ~taken;
    // A space goes to punctuation behind it; whitespace of any kind, or a single character of punctuation, to letters.
    const std::uint64_t others_begin = others & ~moved_up(others, others_before) & ~moved_up(now.blanks, before.blanks);
    const std::uint64_t firsts = first_characters.find(others_begin, now.tails);
    const std::uint64_t letters_begin = now.letters & ~moved_up(now.letters, before.letters) &
                                        ~moved_up(soft, soft_before) & ~moved_up(firsts, firsts_before);
    const std::uint64_t numbers_begin = now.numbers & ~moved_up(now.numbers, before.numbers);
    const std::uint64_t spaces_begin = own_spaces & ~moved_up(own_spaces, own_spaces_before);
    masks.starts[i] = others_begin | letters_begin | three_digits.starts(now, numbers_begin) | spaces_begin |
                      (soft & masks.text_follows(i));
    const std::size_t left = masks.left - std::min(masks.left, i * 64);
    const std::uint64_t text_ends = whole_at_end && left < 64 ? kOne << left : 0;
    const std::uint64_t newlines_before = before.newlines & ~taken_before;
    after_newline.add(i, soft & moved_up(own_newlines, newlines_before), soft, now.newlines | text_ends);
    before = now;
    others_before = others;
    firsts_before = firsts;
    own_spaces_before = own_spaces;
    taken_before = taken;
  }
  const bool text_ends = masks.left <= masks.blocks * 64;
  if (!after_newline.is_open() || (!text_ends && (masks.classes[masks.blocks].spaces & 1) == 0)) return;
  masks.is_open = !text_ends;
  if (whole_at_end || !text_ends) after_newline.take_open_back();
}

}  // namespace headrace::tokenizing
