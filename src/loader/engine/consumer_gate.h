// ConsumerGate: a loader's engine is taken away only while no consumer is in a call for a batch.
#pragma once

#include <atomic>

namespace headrace {

/// Threads: any. Calls may lie in one another, and several threads may be in one.
class ConsumerGate {
 public:
  /// A consumer is in a call while it lives. Blocks: while the gate is closed, which is milliseconds.
  class Call {
   public:
    explicit Call(ConsumerGate& gate) : gate_(gate) {
      for (int calls = gate.calls_;;) {
        if (calls == kClosed) {
          gate.calls_.wait(kClosed);
          calls = gate.calls_;
        } else if (gate.calls_.compare_exchange_weak(calls, calls + 1)) {
          return;
        }
      }
    }
    ~Call() { --gate_.calls_; }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    ConsumerGate& gate_;
  };

  /// No consumer enters while it lives, if none was inside.
  class Closed {
   public:
    explicit Closed(ConsumerGate& gate) : gate_(gate) {
      int none = 0;
      closed_ = gate.calls_.compare_exchange_strong(none, kClosed);
    }
    ~Closed() {
      if (!closed_) return;
      gate_.calls_ = 0;
      gate_.calls_.notify_all();
    }
    Closed(const Closed&) = delete;
    Closed& operator=(const Closed&) = delete;
    explicit operator bool() const { return closed_; }

   private:
    ConsumerGate& gate_;
    bool closed_ = false;
  };

 private:
  static constexpr int kClosed = -1;
  std::atomic<int> calls_{0};
};

}  // namespace headrace
