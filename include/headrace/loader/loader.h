// Loader: how samples are delivered. Shuffled, collated batches from C++ threads under one memory budget.
#pragma once

#include <headrace/loader/dataset.h>
#include <headrace/loader/report.h>

#include <chrono>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

namespace headrace {

/// Order of samples. Converts from bool: true is the block shuffle.
class Shuffle {
 public:
  enum Mode : std::uint8_t { kNone, kBlock, kExact };
  Shuffle(bool on = false) : mode_(on ? kBlock : kNone) {}  // NOLINT: `.shuffle = true` is the point
  Shuffle(Mode mode) : mode_(mode) {}                       // NOLINT
  [[nodiscard]] Mode mode() const { return mode_; }
  friend bool operator==(const Shuffle&, const Shuffle&) = default;

 private:
  Mode mode_;
};

/// What happens to the last samples of an epoch when they do not fill a batch.
enum class Tail : std::uint8_t { kPartial, kDrop };

struct LoaderOptions {
  std::uint64_t batch_size = 0;  ///< Samples a batch. Must be given.
  Shuffle shuffle = false;
  std::uint64_t seed = 0;
  Tail tail = Tail::kPartial;
  /// Cap on the bytes this loader may hold; 0: the process's budget (60 % of what is really available).
  std::uint64_t memory = 0;
  /// Decode and assembly threads; 0: as many as this process may use.
  std::uint32_t threads = 0;
  /// Longest wait for one batch before Error(kTimeout); zero: no limit.
  std::chrono::nanoseconds timeout{0};
};

/// Delivers epochs of batches. Threads: use from one thread at a time; batches may be released anywhere.
/// Life time: threads start with the first epoch and stop in close() or the destructor; batches outlive both.
class Loader {
 public:
  struct Impl;
  /// Resolves every automatic setting; no thread is started and no data read.
  /// Errors: kInvalidArgument; kOutOfBudget with the smallest budget that would do.
  Loader(Dataset dataset, LoaderOptions options);
  ~Loader();
  Loader(Loader&&) noexcept;
  Loader& operator=(Loader&&) noexcept;

  /// One pass over the data.
  class Epoch {
   public:
    /// The next batch, or nullopt after the last. Blocks until it is ready.
    /// Errors: whatever befell the data, at the first batch that holds it; kClosed if the loader was closed or a newer
    /// epoch was started; kTimeout; kForked in a child process.
    std::optional<Batch> next();
    /// Wait up to `limit`. \return True if next() will not block.
    bool wait(std::chrono::nanoseconds limit);
    [[nodiscard]] std::uint64_t number() const;

   private:
    friend class Loader;
    struct Impl;
    std::shared_ptr<Impl> impl_;
  };

  /// Start the next epoch (also after a break). A live Epoch of this loader ends with kClosed.
  Epoch epoch();
  /// Name the epoch that the next call of epoch() delivers. Idempotent.
  void set_epoch(std::uint64_t number);
  /// Epoch that the next call of epoch() delivers.
  [[nodiscard]] std::uint64_t next_epoch() const;

  /// Batches an epoch, exact.
  [[nodiscard]] std::uint64_t num_batches() const;
  [[nodiscard]] const LoaderOptions& options() const;
  [[nodiscard]] const Dataset& dataset() const;

  /// Every automatic setting with its resolved value and the reason, as text.
  [[nodiscard]] std::string explain() const;
  /// What was delivered, where time went, memory against budget, and a verdict. May be called at any time.
  [[nodiscard]] Report report() const;

  /// Stop threads and give memory back. Idempotent. Batches that are held stay valid.
  void close();
  [[nodiscard]] bool closed() const;

  /// `for (const Batch& batch : loader)`: one epoch per loop.
  class Iterator {
   public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::input_iterator_tag;
    const Batch& operator*() const { return *batch_; }
    const Batch* operator->() const { return &*batch_; }
    Iterator& operator++() {
      batch_.reset();
      batch_ = epoch_->next();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& it, std::default_sentinel_t) { return !it.batch_.has_value(); }

   private:
    friend class Loader;
    std::optional<Epoch> epoch_;
    std::optional<Batch> batch_;
  };
  Iterator begin();
  std::default_sentinel_t end() const { return {}; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// Limit of the whole process in bytes; loaders' `memory` are caps inside it.
void set_memory(std::uint64_t bytes);

}  // namespace headrace
