// Loader: how samples are delivered. Shuffled, collated batches from C++ threads under one memory budget.
#pragma once

#include <headrace/loader/dataset.h>
#include <headrace/loader/report.h>
#include <headrace/loader/samplers.h>
#include <headrace/order/tail.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

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

/// How much a block shuffle mixes at any time: a number of streams and of blocks in each one's pool, or decoded bytes
/// from which they follow. All 0: the default.
struct ShuffleShape {
  std::uint32_t streams = 0, pool_blocks = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const ShuffleShape&, const ShuffleShape&) = default;
};

/// With whom a loader shares what it keeps of decoded data.
enum class Share : std::uint8_t {
  kNothing,  ///< With nobody (a cache directory is shared all the same).
  kHost,     ///< With the processes of this host that load the same data.
};

/// What is kept of decoded data, between epochs.
struct CacheChoice {
  enum Mode : std::uint8_t {
    kAuto,       ///< Everything, if it fits the budget; else what fits beside the window, re-encoded if that pays.
    kNone,       ///< Nothing.
    kRam,        ///< Everything, decoded before the first batch. kOutOfBudget if it does not fit.
    kDirectory,  ///< Everything, as .npy files that are written during the first epoch and mapped after.
  };
  Mode mode = kAuto;
  std::string directory;

  /// "auto", "none", "ram", or a directory: a text with a slash, or one that exists. Throws kInvalidArgument.
  static CacheChoice parse(const std::string& text);
};

struct LoaderOptions {
  std::uint64_t batch_size = 0;         ///< Samples a batch, on each rank. Give this or global_batch_size.
  std::uint64_t global_batch_size = 0;  ///< Samples a step over all ranks; a multiple of the world size.
  Shuffle shuffle = false;
  std::uint64_t seed = 0;
  Tail tail = Tail::kPartial;
  /// Another block shuffle than the default, which follows from the data and the global batch alone.
  ShuffleShape shuffle_buffer = {};
  /// Data-parallel rank and number of ranks; give both or neither. Not given: what torchrun, srun or mpirun put into
  /// the environment, read when an epoch starts; else 0 of 1.
  std::optional<std::uint32_t> rank = {}, world_size = {};
  /// Deliver with each batch the field "_rows": (file, row) of every sample, int64.
  bool provenance = false;
  /// Another order than shuffle's; excludes shuffle.
  std::shared_ptr<const SamplerChoice> sampler = {};
  /// Cap on the bytes this loader may hold; 0: the process's budget (60 % of what is really available).
  std::uint64_t memory = 0;
  CacheChoice cache = {};
  /// kHost: the processes of this host that load the same data keep it once, together, in memory (or, with a cache
  /// directory, in that).
  Share share = Share::kNothing;
  /// Decode and assembly threads; 0: as many as this process may use.
  std::uint32_t threads = 0;
  /// Longest wait for one batch before Error(kTimeout); zero: no limit.
  std::chrono::nanoseconds timeout{0};
};

/// How to take a state that does not fit exactly.
struct ResumeOptions {
  /// Go on although the files have other names, bytes or another order than those of the state: they were moved,
  /// renamed or mended. Their lengths, chunks and fields must agree all the same.
  bool accept_changed_data = false;
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
    /// Throws kClosed if a newer epoch of the loader was started, or it was closed or sent elsewhere.
    void check_current() const;
    [[nodiscard]] std::uint64_t number() const;

   private:
    friend class Loader;
    struct Impl;
    std::shared_ptr<Impl> impl_;
  };

  /// Start the next epoch (also after a break), or go on where load_state() said. A live Epoch of this loader ends with
  /// kClosed.
  Epoch epoch();
  /// Name the epoch that the next call of epoch() delivers. Idempotent.
  void set_epoch(std::uint64_t number);
  /// Epoch that the next call of epoch() delivers.
  [[nodiscard]] std::uint64_t next_epoch() const;

  /// Where the loader is, as less than 200 bytes of JSON: the epoch, and the samples of it that were handed out over
  /// all ranks; never what was only prefetched. The same on every rank, and for any threads, memory and world size. It
  /// knows its files by their names and samples of their bytes, not by where they lie: the first call reads 128 KiB at
  /// most.
  [[nodiscard]] std::string state() const;
  /// Go to where state() was taken: a live Epoch goes on from there, and so does the next epoch(). Another world size
  /// or batch size goes on at the same sample. Cost: milliseconds, and one window to fill. Errors: kInvalidArgument,
  /// naming what differs, if the state is of other data, another seed or another order; the loader is then as it was.
  void load_state(const std::string& json, const ResumeOptions& options = {});

  /// Make a batch of any epoch again, bit for bit as iterating delivers it on this rank. A live epoch is not disturbed,
  /// nothing is counted, and the memory is the caller's. \param step  Number of the batch, counted from the start of
  /// the epoch. \param rows_of_epoch  The rows of that epoch, where the sampler is a list for each and was not given
  /// this one. Blocks: while its rows are read. Errors: kInvalidArgument: no such batch, or an order that is made up as
  /// it goes; of the data.
  [[nodiscard]] Batch batch(std::uint64_t epoch, std::uint64_t step,
                            std::span<const std::uint64_t> rows_of_epoch = {}) const;

  /// Fields of a batch: the data's, then derived ones ("_rows", "_weight").
  [[nodiscard]] const std::vector<Field>& fields() const;
  /// The rows of an epoch, where the sampler is a list; without a number of the next epoch. Epochs after it that are
  /// given none have these too (see Listed). Another number of rows ends a live epoch. Errors: kInvalidArgument: a row
  /// that is not there; the loader is then as it was.
  void set_rows(std::uint64_t epoch, std::vector<std::uint64_t> rows);
  void set_rows(std::vector<std::uint64_t> rows);
  /// The next rows of the live epoch, where the sampler is Fed. A batch is delivered when its rows were given; more
  /// than that is read ahead. Errors: kInvalidArgument: a row that is not there, or another sampler.
  void feed(std::span<const std::uint64_t> rows);
  /// The rank from now on, where the options leave it open: what a framework knows goes before the environment. Takes
  /// effect when the next epoch starts. Errors: kInvalidArgument.
  void set_rank(std::uint32_t rank, std::uint32_t world_size);
  /// Rows of a full batch on this rank.
  [[nodiscard]] std::uint64_t batch_rows() const;
  /// Samples of an epoch over all ranks.
  [[nodiscard]] std::uint64_t epoch_samples() const;
  /// Samples of a full step over all ranks.
  [[nodiscard]] std::uint64_t global_batch_rows() const;
  /// Batches an epoch, exact; the same on all ranks.
  [[nodiscard]] std::uint64_t num_batches() const;
  [[nodiscard]] const LoaderOptions& options() const;
  [[nodiscard]] const Dataset& dataset() const;

  /// Every automatic setting with its resolved value and the reason, as text.
  [[nodiscard]] std::string explain() const;
  /// What was delivered, where time went, memory against budget, and a verdict. May be called at any time.
  [[nodiscard]] Report report() const;
  /// Return the most bytes of batches that the caller held beyond the budget at any time: report().memory has it too,
  /// at the price of a whole report.
  [[nodiscard]] std::uint64_t held_over_bytes() const;

  [[nodiscard]] const Impl& impl() const { return *impl_; }

  /// Decode now what the cache will hold (see CacheChoice), with all threads; after that batches come from memory.
  /// Ends an epoch that is under way. Blocks; `progress(done_blocks, all_blocks)` is called now and then, false stops.
  /// Errors: kInvalidArgument if nothing is kept whole; of the data, at the first batch that holds it.
  void preload(const std::function<bool(std::uint64_t, std::uint64_t)>& progress = {});
  /// Return what the user should know, one sentence each, in the order in which it came up: settings that make things
  /// worse than they need be, why a cache is not used, or no more. Usually none.
  [[nodiscard]] std::vector<std::string> notices() const;
  /// Return how many there are: costs an atomic load, so that it can be asked after every batch.
  [[nodiscard]] std::uint64_t num_notices() const;

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

/// Limit of the whole process in bytes; loaders' `memory` are caps inside it. \return What is wrong with it, if it is
/// more than there is; else empty.
std::string set_memory(std::uint64_t bytes);

}  // namespace headrace
