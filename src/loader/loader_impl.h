// What is behind a Loader handle.
#pragma once

#include <headrace/loader/loader.h>

#include <atomic>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/memory_budget.h"
#include "loader/engine.h"

namespace headrace {

/// The consumer's side of the books. Writer: the consumer's thread; readers: any.
struct ConsumerState {
  using Counter = std::atomic<std::uint64_t>;
  Counter generation{0};  ///< Of the newest Epoch; older ones have ended.
  Counter epochs_started{0}, epochs_finished{0}, batches{0}, samples{0};
  Counter wait_ns{0}, work_ns{0};
  Counter first_start_ns{0}, epoch_start_ns{0}, first_batch_ns{0}, last_batch_ns{0};
  std::uint64_t working_since_ns = 0;  ///< 0: the consumer is not between two batches of an epoch.

  /// The consumer came back, at `now`. `counts`: what it did since the last batch was work on it.
  void stop_work(std::uint64_t now, bool counts) {
    if (working_since_ns != 0 && counts) work_ns += now - working_since_ns;
    working_since_ns = 0;
  }
  void add_batch(std::uint64_t rows, std::uint64_t now) {
    if (batches == 0) first_batch_ns = now - first_start_ns;
    ++batches;
    samples += rows;
    last_batch_ns = now;
    working_since_ns = now;
  }
};

struct Loader::Impl {
  Impl(Dataset d, LoaderOptions o) : dataset(std::move(d)), options(o) {}
  Dataset dataset;
  LoaderOptions options;
  std::shared_ptr<MemoryBudget> budget;
  std::shared_ptr<Engine> engine;
  std::shared_ptr<ConsumerState> consumer = std::make_shared<ConsumerState>();
  std::uint64_t next_epoch = 0;
  bool closed = false;
};

std::string explain_plan(const Loader::Impl& loader);
Report make_report(const Loader::Impl& loader);

}  // namespace headrace
