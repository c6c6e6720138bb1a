// BlockStates: for each block one word in memory that threads and processes share: empty, ready, or its filler.
//
// Waiting is a futex on the word (man 2 futex), without the PRIVATE flag, so that it works between processes. A filler
// that died is found by those that want its block.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/memory/align.h"

namespace headrace {

/// Over memory of bytes_for(num_blocks) bytes, aligned to 64 and zero at first, that outlives it. Threads and
/// processes: all members at once, but adopt().
class BlockStates {
 public:
  static constexpr std::size_t kHeaderBytes = 64;
  static std::uint64_t bytes_for(std::uint64_t num_blocks) {
    return align_up(kHeaderBytes + num_blocks * sizeof(std::uint32_t));
  }
  BlockStates(std::byte* memory, std::uint64_t num_blocks);

  enum class Claim : std::uint8_t {
    kReady,
    kFill,    ///< The caller's to fill: publish() or abandon() must follow.
    kVerify,  ///< As kFill, but a former run says that its rows are in place: verified() if they are.
    kBusy,
  };
  Claim claim(std::uint64_t block);
  [[nodiscard]] bool ready(std::uint64_t block) const {
    return words_[block].load(std::memory_order_acquire) == kReadyWord;
  }
  /// Return true where claim() would say kFill or kVerify now.
  [[nodiscard]] bool can_fill(std::uint64_t block) const;
  bool wait(std::uint64_t block, std::chrono::nanoseconds limit);
  /// \return True for the block that makes them all ready, once among all processes.
  bool publish(std::uint64_t block);
  /// Note that what was claimed with kVerify is good. \return False for the last block: it is still the caller's, which
  /// fills it again, so that some publish() is the last.
  bool verified(std::uint64_t block);
  void abandon(std::uint64_t block);

  [[nodiscard]] bool complete() const;
  [[nodiscard]] std::uint64_t ready_blocks() const;

  /// Claim what comes after the last block, which one process does: true for the one that may, until finished() or
  /// gave_up().
  bool claim_finish();
  [[nodiscard]] bool is_finished() const;
  void finished();
  void gave_up();

  /// Start from what a former run left behind: its ready blocks are to be verified, all others are empty. No other
  /// process may look at them meanwhile.
  void adopt();

 private:
  using Word = std::atomic<std::uint32_t>;
  static_assert(Word::is_always_lock_free && sizeof(Word) == 4);
  static constexpr std::uint32_t kEmptyWord = 0, kReadyWord = 0x80000001, kKeptWord = 0x80000002;
  struct Header {
    std::atomic<std::uint64_t> ready;
    Word finish;
  };
  static_assert(sizeof(Header) <= kHeaderBytes);
  static bool take_over(Word& word, std::uint32_t seen);
  static bool settle(Word& word, std::uint32_t now);

  Header* const header_;
  Word* const words_;
  const std::uint64_t num_blocks_;
  mutable std::atomic<std::uint64_t> seen_ready_{0};  // blocks before this one were all ready
};

}  // namespace headrace
