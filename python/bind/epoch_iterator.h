// EpochIterator: one pass over the data as a Python iterator; where a batch crosses into Python.
#pragma once

#include <headrace/loader/loader.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "bind/loader_handle.h"

namespace headrace::python {

class EpochIterator {
 public:
  EpochIterator(std::shared_ptr<LoaderHandle> handle, Loader::Epoch epoch)
      : handle_(std::move(handle)), epoch_(std::move(epoch)) {}

  /// The next batch. A batch that is ready comes without giving up the GIL. Throws nb::stop_iteration after the last.
  nb::object next();
  /// Throws kClosed if the epoch was ended by a newer one.
  void check_current();
  [[nodiscard]] std::uint64_t number() const { return epoch_.number(); }

 private:
  Batch next_batch();
  void wait_for_batch(Turn& turn);

  std::shared_ptr<LoaderHandle> handle_;
  Loader::Epoch epoch_;
  bool finished_ = false;
};

}  // namespace headrace::python
