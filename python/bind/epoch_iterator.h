// EpochIterator: one pass over the data as a Python iterator; where a batch crosses into Python.
#pragma once

#include <headrace/loader.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "bind/loader_handle.h"

namespace headrace::python {

class EpochIterator {
 public:
  /// \param ahead  True: batches are taken before the program gets them; Loader.hand_out() says when it does.
  EpochIterator(std::shared_ptr<LoaderHandle> handle, Loader::Epoch epoch, bool ahead)
      : handle_(std::move(handle)), epoch_(std::move(epoch)), ahead_(ahead) {}

  /// Return the next batch. A batch that is ready comes without giving up the GIL. Throws nb::stop_iteration after the
  /// last.
  nb::object next();
  /// Throws kClosed if the epoch was ended by a newer one.
  void check_current();
  [[nodiscard]] std::uint64_t number() const { return epoch_.number(); }
  /// Return where the loader is once the program has what the last next() gave; nullopt if that failed.
  [[nodiscard]] std::optional<Loader::Place> taken() const { return epoch_.taken(); }

 private:
  Batch next_batch();
  void wait_for_batch(Turn& turn);

  std::shared_ptr<LoaderHandle> handle_;
  Loader::Epoch epoch_;
  const bool ahead_;
  bool finished_ = false;
};

}  // namespace headrace::python
