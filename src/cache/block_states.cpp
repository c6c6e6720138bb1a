#include "cache/block_states.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>
#include <new>

#include "cache/filler.h"

namespace headrace {
namespace {

constexpr std::uint32_t kWaitersBit = 1u << 30, kSettledBit = 1u << 31;
constexpr std::chrono::nanoseconds kLookAfterFiller = std::chrono::milliseconds(50);

bool is_filling(std::uint32_t word) {
  return word != 0 && (word & kSettledBit) == 0;
}
bool is_mine(std::uint32_t word) {
  return is_filling(word) && (word & ~kWaitersBit) == filler_of_this_process();
}
bool is_orphan(std::uint32_t word) {
  return is_filling(word) && !filler_is_alive(word & ~kWaitersBit);
}

void wake_all(std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

BlockStates::BlockStates(std::byte* memory, std::uint64_t num_blocks)
    : header_(std::launder(reinterpret_cast<Header*>(memory))),
      words_(std::launder(reinterpret_cast<Word*>(memory + kHeaderBytes))),
      num_blocks_(num_blocks) {}

/// Make an empty block, or one whose filler is dead, this process's.
bool BlockStates::take_over(Word& word, std::uint32_t seen) {
  const std::uint32_t waiters = is_filling(seen) ? seen & kWaitersBit : 0;  // they see the new filler
  return word.compare_exchange_strong(seen, filler_of_this_process() | waiters, std::memory_order_acq_rel);
}

/// End this process's filling; false if the block is not this process's any more.
bool BlockStates::settle(Word& word, std::uint32_t now) {
  std::uint32_t seen = word.load(std::memory_order_relaxed);
  do {
    if (!is_mine(seen)) return false;
  } while (!word.compare_exchange_weak(seen, now, std::memory_order_acq_rel));
  if ((seen & kWaitersBit) != 0) wake_all(word);
  return true;
}

BlockStates::Claim BlockStates::claim(std::uint64_t block) {
  Word& word = words_[block];
  for (;;) {
    const std::uint32_t seen = word.load(std::memory_order_acquire);
    if (seen == kReadyWord) return Claim::kReady;
    if (is_filling(seen) && !is_orphan(seen)) return Claim::kBusy;
    if (take_over(word, seen)) return seen == kKeptWord ? Claim::kVerify : Claim::kFill;
  }
}

bool BlockStates::can_fill(std::uint64_t block) const {
  const std::uint32_t seen = words_[block].load(std::memory_order_acquire);
  return seen != kReadyWord && (!is_filling(seen) || is_orphan(seen));
}

bool BlockStates::wait(std::uint64_t block, std::chrono::nanoseconds limit) {
  Word& word = words_[block];
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    std::uint32_t seen = word.load(std::memory_order_acquire);
    if (!is_filling(seen)) return seen == kReadyWord;
    if (is_orphan(seen)) {
      if (word.compare_exchange_strong(seen, kEmptyWord, std::memory_order_acq_rel)) wake_all(word);
      continue;
    }
    const auto left = limit - (std::chrono::steady_clock::now() - start);
    if (left <= std::chrono::nanoseconds::zero()) return false;
    if ((seen & kWaitersBit) == 0 && !word.compare_exchange_strong(seen, seen | kWaitersBit, std::memory_order_acq_rel))
      continue;
    const std::int64_t slice = std::min<std::chrono::nanoseconds>(left, kLookAfterFiller).count();
    const timespec time{slice / 1'000'000'000, slice % 1'000'000'000};
    ::syscall(SYS_futex, &word, FUTEX_WAIT, seen | kWaitersBit, &time, nullptr, 0);
  }
}

bool BlockStates::publish(std::uint64_t block) {
  if (!settle(words_[block], kReadyWord)) return false;  // its new filler publishes the same rows
  return header_->ready.fetch_add(1, std::memory_order_acq_rel) + 1 == num_blocks_;
}

bool BlockStates::verified(std::uint64_t block) {
  if (!settle(words_[block], kReadyWord)) return true;
  std::uint64_t count = header_->ready.load(std::memory_order_relaxed);
  do {
    if (count + 1 >= num_blocks_) {  // nothing else changes a ready word
      words_[block].store(filler_of_this_process(), std::memory_order_release);
      return false;
    }
  } while (!header_->ready.compare_exchange_weak(count, count + 1, std::memory_order_acq_rel));
  return true;
}

void BlockStates::abandon(std::uint64_t block) {
  settle(words_[block], kEmptyWord);
}

// The count lags by the blocks of processes that were killed between two instructions of publish(): the words decide.
bool BlockStates::complete() const {
  std::uint64_t block = seen_ready_.load(std::memory_order_acquire);  // and with it what that thread saw of the words
  if (block == num_blocks_) return true;
  while (block < num_blocks_ && ready(block)) ++block;
  seen_ready_.store(block, std::memory_order_release);
  return block == num_blocks_;
}

std::uint64_t BlockStates::ready_blocks() const {
  return complete() ? num_blocks_ : std::min(num_blocks_, header_->ready.load(std::memory_order_acquire));
}

bool BlockStates::claim_finish() {
  const std::uint32_t seen = header_->finish.load(std::memory_order_acquire);
  if (seen == kReadyWord || (is_filling(seen) && !is_orphan(seen))) return false;
  return take_over(header_->finish, seen);
}
bool BlockStates::is_finished() const {
  return header_->finish.load(std::memory_order_acquire) == kReadyWord;
}
void BlockStates::finished() {
  settle(header_->finish, kReadyWord);
}
void BlockStates::gave_up() {
  settle(header_->finish, kEmptyWord);
}

void BlockStates::adopt() {
  header_->ready.store(0, std::memory_order_relaxed);
  header_->finish.store(kEmptyWord, std::memory_order_relaxed);
  for (std::uint64_t block = 0; block < num_blocks_; ++block) {
    const std::uint32_t seen = words_[block].load(std::memory_order_relaxed);
    words_[block].store(seen == kReadyWord || seen == kKeptWord ? kKeptWord : kEmptyWord, std::memory_order_release);
  }
}

}  // namespace headrace
