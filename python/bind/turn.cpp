#include "bind/turn.h"

#include <fmt/format.h>

#include <exception>
#include <string>
#include <utility>

#include "bind/loader_handle.h"

namespace headrace::python {
namespace {

void check_signals() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

/// Sets a flag as long as it lives.
class Raised {
 public:
  explicit Raised(std::atomic<bool>& flag) : flag_(flag) { flag_ = true; }
  ~Raised() { flag_ = false; }
  Raised(const Raised&) = delete;
  Raised& operator=(const Raised&) = delete;

 private:
  std::atomic<bool>& flag_;
};

}  // namespace

Turn::Turn(LoaderHandle& handle, const char* call) : handle_(handle), lock_(handle.turn_.mutex_, std::defer_lock) {
  if (handle.turn_.is_mine())
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("{} was called in the middle of another call of this thread ({})", call, handle.turn_.call_.load()))
        .with_hint("Only state_dict(), report(), explain() and close() may be called from there.");
  if (!lock_.try_lock()) take();
  own(call);
}

Turn::~Turn() {
  if (lock_.owns_lock() && handle_.closing_) handle_.close_engine();
  release();
}

void Turn::own(const char* call) {
  handle_.turn_.call_ = call;
  handle_.turn_.owner_ = std::this_thread::get_id();
}

void Turn::release() {
  if (!lock_.owns_lock()) return;
  handle_.turn_.owner_ = std::thread::id();
  lock_.unlock();
}

void Turn::take() {
  while (true) {
    {
      const WithoutGil nogil;
      if (lock_.try_lock_for(kSlice)) return;
    }
    check_signals();
  }
}

void Turn::yield() {
  const char* const call = handle_.turn_.call_;
  release();
  check_signals();
  take();
  own(call);
}

bool Turn::close_now(LoaderHandle& handle) {
  TurnState& state = handle.turn_;
  if (state.is_mine()) return false;
  std::unique_lock lock(state.mutex_, std::try_to_lock);
  while (!lock.owns_lock()) {
    if (state.in_program_) return false;
    {
      const WithoutGil nogil;
      if (lock.try_lock_for(kSlice)) break;
    }
    check_signals();
  }
  handle.close_engine();
  return true;
}

std::function<bool(std::uint64_t, std::uint64_t)> Turn::ended_by_close(
    std::function<bool(std::uint64_t, std::uint64_t)> function) {
  return [this, function = std::move(function)](std::uint64_t done, std::uint64_t total) {
    if (handle_.closing_) return false;
    const Raised in_program(handle_.turn_.in_program_);
    return function(done, total) && !handle_.closing_;
  };
}

void Turn::throw_if_closing() const {
  if (handle_.closing_)
    throw Error(ErrorCode::kClosed, fmt::format("the loader was closed during {}", handle_.turn_.call_.load()));
}

}  // namespace headrace::python
