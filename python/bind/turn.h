// Turn: the right to use a loader, for one call.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "bind/progress.h"

namespace headrace::python {

class LoaderHandle;

/// Longest time without a look at Python's signals.
constexpr std::chrono::milliseconds kSlice{100};

/// Whose turn it is. Threads: any.
class TurnState {
 public:
  /// Return true if the calling thread has the turn: it is in the middle of a call, and called from there.
  [[nodiscard]] bool is_mine() const { return owner_ == std::this_thread::get_id(); }

 private:
  friend class Turn;
  std::timed_mutex mutex_;
  std::atomic<std::thread::id> owner_{};
  std::atomic<const char*> call_ = "";   // what the owner is in the middle of
  std::atomic<bool> in_program_{false};  // the owner is in a function of the program, for however long
};

/// Functions of the program that run inside a call (progress, signal handlers) come back to the loader on the thread
/// that has the turn: such a call throws kInvalidArgument, where waiting would be for ever. Needs the GIL; gives it up
/// only if another thread has the turn.
class Turn {
 public:
  /// \param call  For messages: "preload()".
  Turn(LoaderHandle& handle, const char* call);
  /// Close the loader if that was asked for meanwhile.
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  /// Let others have the turn for a moment, and Python handle its signals. Throws what a signal handler raised.
  void yield();

  /// Return what `work(function)` returns, which is called without the GIL and calls `function` now and then. It is
  /// ended when the loader is closed, from wherever. Throws kClosed then.
  template <class Work>
  auto run(Progress& progress, Work&& work) {
    const std::function<bool(std::uint64_t, std::uint64_t)> function = ended_by_close(progress.function());
    try {
      return progress.run([&] { return work(function); });
    } catch (const Error&) {
      throw_if_closing();
      throw;
    }
  }

  /// Take the turn to close the loader. \return False if the thread that has it is in a function of the program, or is
  /// the calling one: it closes the loader at the end of its turn.
  static bool close_now(LoaderHandle& handle);

 private:
  void own(const char* call);
  void take();
  void release();
  std::function<bool(std::uint64_t, std::uint64_t)> ended_by_close(
      std::function<bool(std::uint64_t, std::uint64_t)> function);
  void throw_if_closing() const;

  LoaderHandle& handle_;
  std::unique_lock<std::timed_mutex> lock_;
};

}  // namespace headrace::python
