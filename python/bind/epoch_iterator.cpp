#include "bind/epoch_iterator.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <utility>

#include "bind/without_gil.h"

namespace headrace::python {

nb::object EpochIterator::next() {
  handle_->check_process();
  if (finished_) throw nb::stop_iteration();
  if (!handle_->is_mine()) handle_->count_batch();
  return handle_->exported(next_batch());  // other libraries' Python: without the turn
}

Batch EpochIterator::next_batch() {
  Turn turn(*handle_, "next()");
  if (finished_) throw nb::stop_iteration();
  // Or else it could be gone between wait() and take(), which would wait for it with the GIL.
  const std::shared_ptr<void> kept = epoch_.keep_memory();
  if (!epoch_.wait(std::chrono::nanoseconds{0})) wait_for_batch(turn);
  std::optional<Batch> batch = ahead_ ? epoch_.take() : epoch_.next();
  if (batch) return std::move(*batch);
  finished_ = true;
  throw nb::stop_iteration();
}

void EpochIterator::check_current() {
  handle_->check_process();
  const Turn turn(*handle_, "iter()");
  if (!finished_) epoch_.check_current();
}

void EpochIterator::wait_for_batch(Turn& turn) {
  using Clock = std::chrono::steady_clock;
  const std::chrono::nanoseconds timeout = handle_->loader().options().timeout;
  const Clock::time_point deadline = timeout.count() > 0 ? Clock::now() + timeout : Clock::time_point::max();
  while (true) {
    {
      const WithoutGil nogil;
      const std::chrono::nanoseconds left = deadline - Clock::now();
      if (epoch_.wait(std::min<std::chrono::nanoseconds>(kSlice, left))) return;
    }
    turn.yield();
    if (handle_->closing()) throw Error(ErrorCode::kClosed, "the loader was closed while a batch was waited for");
    if (Clock::now() >= deadline) {
      throw Error(ErrorCode::kTimeout,
                  fmt::format("no batch came within {:g} s", std::chrono::duration<double>(timeout).count()))
          .with_hint("Raise timeout=, or look at loader.report() for the stage that holds things up.");
    }
  }
}

}  // namespace headrace::python
