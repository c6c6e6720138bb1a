// LoaderHandle: a Loader with what Python adds to it: turns between Python threads, and the exporter of its batches.
//
// The C++ Loader wants one thread at a time. Python code may call from any thread, so each call takes a Turn. A thread
// that has to wait, for its turn or for a batch, does so without the GIL, and wakes at least every 100 ms to let Ctrl-C
// through. No thread waits for the GIL while another waits for it to give up its turn: turns are only ever waited for
// without the GIL. Warnings are given without the turn: what shows them is the program's.
#pragma once

#include <headrace/loader.h>
#include <nanobind/nanobind.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "bind/batch_exporter.h"
#include "bind/turn.h"

namespace headrace::python {

/// Life time: shared by the Python object and its iterators. Threads: made and destroyed with the GIL.
class LoaderHandle : public std::enable_shared_from_this<LoaderHandle> {
 public:
  /// As headrace::Loader's constructor. Errors: also kUnsupported, for an element type the framework does not have.
  static std::shared_ptr<LoaderHandle> make(const Dataset& dataset, const LoaderOptions& options, Framework framework,
                                            BatchFormat format);
  LoaderHandle(const Dataset& dataset, const LoaderOptions& options, Framework framework, BatchFormat format);
  ~LoaderHandle();

  Loader& loader() { return loader_; }
  /// Return a batch as Python has it.
  [[nodiscard]] nb::object exported(const Batch& batch) {
    exporter_.follow(batch.fields());
    return exporter_(batch);
  }

  /// Start the next epoch.
  Loader::Epoch start_epoch();
  /// Return the epoch of a place once more, where load_state() sent it. Throws kClosed if it has ended.
  Loader::Epoch epoch_of(const Loader::Place& place);
  /// Stop and give memory back; a call that another thread is in ends with kClosed. Where the program's own function
  /// runs inside such a call, on this thread or another, that call closes the loader, as soon as the function returns.
  /// Does nothing in a forked child.
  void close();
  /// Return true once close() was called.
  [[nodiscard]] bool closing() const { return closing_; }
  /// Return true if the calling thread is in the middle of a call of this loader, and calls from there.
  [[nodiscard]] bool is_mine() const { return turn_.is_mine(); }
  /// Return true if it was made in the process that forked this one: its threads and locks are then out of order.
  [[nodiscard]] bool forked() const;
  /// Throws kForked if forked().
  void check_process() const;
  /// Count a batch; now and then look whether the caller holds more than the budget, and warn once. Without the turn.
  void count_batch();

  /// Count time that Python functions took of a batch.
  void add_python_ns(std::uint64_t ns) {
    python_ns_ += ns;
    ++python_batches_;
  }
  /// Return the loader's report, with the stage "python" where there are such functions.
  [[nodiscard]] Report report();

  /// Turn what the user should know into HeadraceWarnings, each once, at the line of the program that called.
  void warn_of_notices();

  /// Close every loader that is alive. For the interpreter's exit: threads of ours must be gone before static objects.
  /// Waits for no function of the program that a thread is in.
  static void close_all();

 private:
  friend class Turn;
  std::atomic<std::uint64_t> python_ns_{0}, python_batches_{0};
  void warn_if_held();
  void close_engine() noexcept;
  void warn(const std::string& text) const;

  Loader loader_;
  BatchExporter exporter_;
  TurnState turn_;
  std::atomic<bool> closing_ = false;
  const std::uint32_t rank_;  ///< As the options give it, else 0. Ranks above 0 log what rank 0 warns of.
  const pid_t made_by_;
  std::uint64_t batches_ = 0;  ///< Handed out.
  std::uint64_t notices_told_ = 0;
  std::uint64_t held_seen_ = 0;  ///< Bytes beyond the budget at the last look.
  std::uint64_t next_look_ = 1;  ///< Value of `batches_` at which to look at held memory; 0: warned.
};

}  // namespace headrace::python
