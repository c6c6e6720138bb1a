// EpochBlocks: which blocks an epoch has asked for, so that each counts once as needed, whichever batch asks first.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

namespace headrace {

/// Two epochs at a time, the one that is delivered and the next. Threads: any.
class EpochBlocks {
 public:
  explicit EpochBlocks(std::uint64_t blocks) : blocks_(blocks) {}

  /// Note that a batch asks for blocks. `stretches`: each has its block in `unit`, and gets in `first` whether it is
  /// the first in `epoch` to ask for it, and its caller is to count it. What batches ask for before their epoch was
  /// started counts from its start on. An epoch before the last two asks for nothing new. \param bytes_of  What a block
  /// counts. \return How many were asked for first.
  template <class Stretches, class BytesOf>
  std::uint64_t ask(std::uint64_t epoch, Stretches& stretches, const BytesOf& bytes_of) {
    const std::lock_guard lock(mutex_);
    Epoch* const e = find(epoch);
    std::uint64_t number = 0;
    for (auto& s : stretches) {
      const bool is_new = e && !e->asked[s.unit];
      s.first = is_new && epoch <= started_;
      if (!is_new) continue;
      ++number;
      e->asked[s.unit] = true;
      if (!s.first) e->ahead_bytes += bytes_of(s.unit);
    }
    return number;
  }
  /// Note that an epoch starts.
  void start(std::uint64_t epoch) {
    const std::lock_guard lock(mutex_);
    started_ = epoch;
    for (Epoch& e : epochs_)
      if (e.number <= epoch) ahead_bytes_ += e.ahead_bytes, e.ahead_bytes = 0;
  }
  /// Note that all blocks count for `epoch` already.
  void ask_all(std::uint64_t epoch) {
    const std::lock_guard lock(mutex_);
    if (Epoch* const e = find(epoch)) e->asked.assign(blocks_, true);
  }
  /// Return what counts although its caller did not count it: it was asked for before its epoch was started.
  [[nodiscard]] std::uint64_t ahead_bytes() const {
    const std::lock_guard lock(mutex_);
    return ahead_bytes_;
  }

 private:
  struct Epoch {
    std::uint64_t number = 0, ahead_bytes = 0;
    std::vector<bool> asked;  // of each block; empty: none was, in no epoch
  };
  Epoch* find(std::uint64_t epoch) {
    Epoch& e = epochs_[epoch & 1];
    if (!e.asked.empty() && epoch < e.number) return nullptr;
    if (e.asked.empty() || epoch > e.number) e = {epoch, 0, std::vector<bool>(blocks_, false)};
    return &e;
  }

  const std::uint64_t blocks_;
  mutable std::mutex mutex_;
  Epoch epochs_[2];  // by parity
  std::uint64_t started_ = 0, ahead_bytes_ = 0;
};

}  // namespace headrace
