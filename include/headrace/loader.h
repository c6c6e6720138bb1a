// Loader: delivers samples as shuffled batches, decoded by C++ threads, under one memory budget.
#pragma once

#include <headrace/batches.h>
#include <headrace/dataset.h>
#include <headrace/orders.h>
#include <headrace/report.h>

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

/// Which processes share the decoded data that a loader keeps.
enum class Share : std::uint8_t {
  kNothing,  ///< None (a cache directory is shared nevertheless).
  kHost,     ///< The processes of this host that load the same data.
};

/// Which decoded data to keep between epochs.
struct CacheChoice {
  /// How much is kept, and where.
  enum Mode : std::uint8_t {
    kAuto,  ///< Everything, if it fits the budget; else the blocks that fit beside the window, re-encoded if that pays.
    kNone,  ///< Nothing.
    kRam,   ///< Everything, decoded before the first batch. kOutOfBudget if it does not fit.
    kDirectory,  ///< Everything, as .npy files that are written during the first epoch and mapped afterwards.
  };
  Mode mode = kAuto;      ///< How much is kept, and where.
  std::string directory;  ///< Where the .npy files are, for kDirectory.

  /// Return the choice for "auto", "none", "ram", or a directory: text with a slash, or a directory that exists.
  /// Throws kInvalidArgument.
  static CacheChoice parse(const std::string& text);
};

/// How samples of different length lie in a batch.
enum class BatchLayout : std::uint8_t {
  kRagged,  ///< One behind the other: Batch::offsets() says where each begins.
  /// Filled up to the longest of the batch: arrays of shape (samples, longest, …). Two fields follow: "mask", bool of
  /// shape (samples, longest), true where a row is the sample's own, and "lengths", int64.
  kPadded,
};

/// Options of a loader; the batch has to be given.
struct LoaderOptions {
  BatchChoice batch = {};  ///< How large batches are. Leave it out where an order lists batches (Listed::batch_rows).
  Order order = {};        ///< Order of the samples.
  std::uint64_t seed = 0;  ///< Seed of the order.
  /// Data-parallel rank; give it with world_size or neither. Default: what torchrun, srun or mpirun put into the
  /// environment, read when an epoch starts; otherwise 0 of 1.
  std::optional<std::uint32_t> rank = {};
  std::optional<std::uint32_t> world_size = {};  ///< Number of ranks.
  /// True: each batch has a field "_rows", int64: (file, row) of every sample. Of patches "_volume", the number of the
  /// file, and "_start", the first voxel.
  bool provenance = false;
  BatchLayout layout = BatchLayout::kRagged;  ///< How samples of different length lie in a batch.
  double fill = 0;                            ///< What they are filled up with, for BatchLayout::kPadded.
  /// Most bytes that this loader may hold; 0: the budget of the process (60 % of what is really available).
  std::uint64_t memory = 0;
  /// What is kept of decoded data, between epochs.
  CacheChoice cache = {};
  /// kHost: the processes of this host that load the same data keep one copy together, in memory or in the cache
  /// directory.
  Share share = Share::kNothing;
  /// Decode and assembly threads; 0: as many as this process may use. The ranks of a host divide its processors.
  std::uint32_t threads = 0;
  /// Reads of files that are made at once, ahead of decoding, where files answer late; 0: as many as measurements say
  /// keep the threads decoding, 128 at most, and none where reads come from memory.
  std::uint32_t reads_in_flight = 0;
  /// Longest wait for one batch before Error(kTimeout); zero: no limit.
  std::chrono::nanoseconds timeout{0};
  /// Batches for which a program that copies them to a device has buffers of its own, which the budget pays for:
  /// Report::Memory::staging_bytes. Nothing is allocated for them here.
  std::uint32_t staged_batches = 0;
};

/// How to treat a state that does not fit exactly.
struct ResumeOptions {
  /// True: resume although names, bytes or order of the files differ from those of the state, because they were
  /// renamed, repaired or reordered. Lengths, chunks and fields must agree even then.
  bool accept_changed_data = false;
  /// Rows of the state's epoch, if the sampler is Listed: as by set_rows(), but only if the state fits.
  std::optional<std::vector<std::uint64_t>> rows = {};
  /// Samples of each batch of those rows, if batches are listed too (see Listed).
  std::vector<std::uint64_t> batch_rows = {};
};

/// Delivers epochs of batches.
/// Threads: use from one thread at a time; batches may be destroyed on any thread.
/// Lifetime: threads start with the first epoch and stop in close() or the destructor; batches may outlive both.
class Loader {
 public:
  struct Impl;
  /// Resolve every automatic setting. Starts no thread and reads no data, but the label of a Balanced sampler.
  /// `go_on` may be empty. If reading takes long, it is called by this thread about twenty times a second; when it
  /// returns false, reading ends and kCancelled is thrown.
  /// Errors: kInvalidArgument; kOutOfBudget, with the smallest budget that would be enough; kCancelled.
  Loader(Dataset dataset, LoaderOptions options, const std::function<bool()>& go_on = {});
  ~Loader();
  Loader(Loader&&) noexcept;             ///< Moves the engine, which goes on.
  Loader& operator=(Loader&&) noexcept;  ///< Moves the engine, which goes on; closes the one that was there.

  /// Where a loader is once the program has what was taken of an epoch.
  struct Place {
    std::uint64_t pass = 0;     ///< The pass over the data that it is in.
    std::uint64_t samples = 0;  ///< Samples of the epoch that all ranks were handed out.
    bool last = false;          ///< True if no batch of the epoch follows.
    bool over = false;          ///< True if it is the end that was taken, behind the last batch.
  };

  /// One pass over the data.
  class Epoch {
   public:
    /// Return the next batch, or nullopt after the last. Blocks: until it is ready.
    /// Errors: errors of the data, at the first batch that contains the damaged rows; kClosed if the loader was closed
    /// or a newer epoch was started; kTimeout; kForked in a child process.
    std::optional<Batch> next();
    /// Take the next batch, as next() does, for a program that hands it out later: where the loader is changes only
    /// when Loader::hand_out() is told. Threads: one may take while another hands out.
    std::optional<Batch> take();
    /// Return where the loader is once the program has what the last take() or next() gave; before the first, where it
    /// began; nullopt if that call failed.
    [[nodiscard]] const std::optional<Place>& taken() const;
    /// Wait at most `limit`. \return True if next() will not block. Errors: as next().
    bool wait(std::chrono::nanoseconds limit);
    /// Keep other loaders from this one's memory while the result lives, as next() does: for several calls of wait()
    /// that a batch is waited for with. Where two loaders have room for one, they could go on taking it otherwise.
    [[nodiscard]] std::shared_ptr<void> keep_memory();
    /// Throws kClosed if this epoch was ended: by a newer epoch, close(), preload(), set_rows() or load_state().
    void check_current() const;
    /// Return the number of the epoch.
    [[nodiscard]] std::uint64_t number() const;

   private:
    friend class Loader;
    struct Impl;
    std::shared_ptr<Impl> impl_;
  };

  /// Start the next epoch (also after a break), or continue at the position of load_state(). An unfinished Epoch of
  /// this loader ends with kClosed. Blocks: the first call, while fields that stay in memory are read.
  /// `go_on` may be empty. It is called by this thread while it reads, at most about twenty times a second; when it
  /// returns false, reading ends and kCancelled is thrown. The next call tries again. It may ask this loader for
  /// state(), report() and explain(), and may call close(); calls that change the loader throw kInvalidArgument there.
  Epoch epoch(const std::function<bool()>& go_on = {});
  /// Tell that the program has what was taken up to `place`: state(), num_batches() and load_state() go by that. A
  /// place of an epoch that has ended changes nothing.
  void hand_out(const Place& place);
  /// Return the Epoch of a place once more, where load_state() sent it. Errors: kClosed if it has ended.
  Epoch epoch_of(const Place& place);
  /// Set the number of the epoch that the next call of epoch() delivers, 2^63 - 1 at most. Idempotent.
  void set_epoch(std::uint64_t number);
  /// Return the number of the epoch that the next call of epoch() delivers.
  [[nodiscard]] std::uint64_t next_epoch() const;
  /// Return how many samples of that epoch come before what it delivers: 0, but after load_state().
  [[nodiscard]] std::uint64_t next_epoch_sample() const;

  /// Return the position of the loader as less than 200 bytes of JSON: the epoch, and how many of its samples were
  /// handed out over all ranks. Prefetched samples do not count. The same on every rank, and for any threads, memory
  /// and world size. Files are identified by their names and by samples of their bytes, not by where they are. Blocks:
  /// the first call reads at most 128 KiB, and as much of the files that virtual data sets and external storage name.
  [[nodiscard]] std::string state() const;
  /// Return the state() of another place, in the same form: so many samples into an epoch, whose rows are known where
  /// they are listed.
  [[nodiscard]] std::string state_at(std::uint64_t epoch, std::uint64_t samples) const;
  /// Go to the position of a state: an unfinished Epoch and the next epoch() continue from there. With another world
  /// size or batch size they continue at the same sample; steps of a token budget stay as they are. Takes milliseconds,
  /// and the time to fill the first batches. Errors: kInvalidArgument, which names what differs, if the state is of
  /// other data, another seed or another order; the loader is then unchanged.
  void load_state(const std::string& json, const ResumeOptions& options = {});
  /// Throw what load_state() would throw at a state that does not fit, and change nothing. If the sampler is Listed and
  /// `options` has no rows, those of the state's epoch are not looked at.
  void check_state(const std::string& json, const ResumeOptions& options = {}) const;

  /// Make a batch of any epoch again, bit for bit as iterating delivers it on this rank. An unfinished epoch is not
  /// disturbed, nothing is counted, and the memory is the caller's.
  /// \param step  Number of the batch in the epoch, from 0.
  /// \param rows_of_epoch  Rows of that epoch, if the sampler is Listed and was not given the rows of this epoch.
  /// \param batch_rows  Samples of each batch of those, if batches are listed too.
  /// Blocks: while its rows are read. Errors: kInvalidArgument if there is no such batch, or the sampler is
  /// OnlineSampler; errors of the data.
  [[nodiscard]] Batch batch(std::uint64_t epoch, std::uint64_t step, std::span<const std::uint64_t> rows_of_epoch = {},
                            std::span<const std::uint64_t> batch_rows = {}) const;

  /// Return the fields of the next batch: those of the data, then derived ones ("_rows", "_weight"). Another number of
  /// ranks, or a state, may make others. Valid as long as the loader is.
  [[nodiscard]] const std::vector<Field>& fields() const;
  /// Set the rows of an epoch (the next one, if no number is given), if the sampler is Listed. They also hold for later
  /// epochs for which no others are set (see Listed). A different number of rows or batches, or a larger batch, ends an
  /// unfinished epoch. \param batch_rows  Samples of each batch, if batches are listed too.
  /// Errors: kInvalidArgument if a row does not exist, or batches do not hold the rows; the loader is then unchanged.
  void set_rows(std::uint64_t epoch, std::vector<std::uint64_t> rows, std::span<const std::uint64_t> batch_rows = {});
  void set_rows(std::vector<std::uint64_t> rows);  ///< Sets those of the next epoch.
  /// Add the next rows of the current epoch, if the sampler is OnlineSampler. A batch is delivered once all its rows
  /// were given; rows beyond that are read ahead. Errors: kInvalidArgument if a row does not exist, or with another
  /// sampler.
  void feed(std::span<const std::uint64_t> rows);
  /// Set the rank, if the options do not. Frameworks call this; it overrides the environment. Takes effect when the
  /// next epoch starts. Errors: kInvalidArgument.
  void set_rank(std::uint32_t rank, std::uint32_t world_size);
  /// Return the samples of a full batch on this rank; where batches differ in size, of the largest, and with ByTokens
  /// an upper bound.
  [[nodiscard]] std::uint64_t batch_rows() const;
  /// Return the samples of an epoch over all ranks.
  [[nodiscard]] std::uint64_t epoch_samples() const;
  /// Return the samples of a full step over all ranks; where batches differ in size, an upper bound.
  [[nodiscard]] std::uint64_t global_batch_rows() const;
  /// Return the number of groups, those without samples too, if the options group samples; else 0.
  [[nodiscard]] std::uint64_t num_groups() const;
  /// Return the exact number of batches in the epoch that is under way, or else the next; the same on all ranks. An
  /// epoch is under way until its end was handed out, which follows its last batch.
  [[nodiscard]] std::uint64_t num_batches() const;
  /// Return the samples that all ranks were handed out of an epoch once the batch that begins after `position` samples
  /// is done: where the next batch begins.
  [[nodiscard]] std::uint64_t step_end(std::uint64_t epoch, std::uint64_t position) const;
  /// Return the samples that all ranks were handed out of an epoch before its batch number `step`.
  [[nodiscard]] std::uint64_t step_begin(std::uint64_t epoch, std::uint64_t step) const;
  /// Return the number of batches of an epoch that follow after `position` samples.
  [[nodiscard]] std::uint64_t batches_after(std::uint64_t epoch, std::uint64_t position) const;
  /// Return the options that were given.
  [[nodiscard]] const LoaderOptions& options() const;
  /// Return the data set that is delivered.
  [[nodiscard]] const Dataset& dataset() const;

  /// Return every automatic setting with its value and the reason, as text.
  [[nodiscard]] std::string explain() const;
  /// Return what was delivered, where the time went, memory and budget, and a verdict. May be called at any time.
  [[nodiscard]] Report report() const;
  /// Return the most bytes of batches that the caller held beyond the budget at any time: report().memory has it too,
  /// at the price of a whole report.
  [[nodiscard]] std::uint64_t held_over_bytes() const;

  /// Decode now all that the cache will hold (see CacheChoice), with all threads. After that, batches come from memory.
  /// Ends an unfinished epoch, unless all is held. Returns at once for chunks of volumes that are stored as they are
  /// delivered: nothing of them is decoded. Blocks: until done. `progress(done_blocks, all_blocks)` is called
  /// from time to time; return false to stop; it may do what epoch()'s `go_on` may. Errors: kInvalidArgument if the
  /// cache does not hold all rows; kCancelled; kClosed; errors of the data.
  void preload(const std::function<bool(std::uint64_t, std::uint64_t)>& progress = {});
  /// Return what the user should know, a sentence each, in the order in which it came up: settings that make loading
  /// slower than necessary, why a cache is not used or no longer used. Usually empty.
  [[nodiscard]] std::vector<std::string> notices() const;
  /// Return the number of notices. Costs an atomic load, so it can be called after every batch.
  [[nodiscard]] std::uint64_t num_notices() const;

  /// Stop the threads and free the memory. Idempotent. Batches that you hold stay valid. Threads: any; a call that
  /// another thread is in ends with kClosed. If it is in your own function then (`go_on`, `progress`), close() does not
  /// wait for that: the memory is freed when the call ends.
  void close();
  /// Return true if it was closed.
  [[nodiscard]] bool closed() const;
  /// Return true while the memory of its plan is its own: not before the first epoch, and not while others have it.
  [[nodiscard]] bool holds_memory() const;

  /// Iterator for `for (const Batch& batch : loader)`: one epoch per loop.
  class Iterator {
   public:
    using value_type = Batch;                             ///< What it gives.
    using difference_type = std::ptrdiff_t;               ///< As the standard wants it.
    using iterator_category = std::input_iterator_tag;    ///< One pass.
    const Batch& operator*() const { return *batch_; }    ///< The batch at hand.
    const Batch* operator->() const { return &*batch_; }  ///< The batch at hand.
    /// Go on to the next batch. Blocks, errors: as Epoch::next().
    Iterator& operator++() {
      batch_.reset();
      batch_ = epoch_->next();
      return *this;
    }
    void operator++(int) { ++*this; }  ///< As ++iterator.
    friend bool operator==(const Iterator& it, std::default_sentinel_t) { return !it.batch_.has_value(); }

   private:
    friend class Loader;
    std::optional<Epoch> epoch_;
    std::optional<Batch> batch_;
  };
  Iterator begin();                                   ///< The first batch of a new epoch. Blocks: until it is there.
  std::default_sentinel_t end() const { return {}; }  ///< Behind the last batch.

 private:
  friend struct LoaderInternals;
  std::unique_ptr<Impl> impl_;
};

/// Limit the bytes that all loaders of the process may hold together. `memory` of a loader is a cap inside this limit.
/// \return A warning, if this is more than what is available; otherwise empty.
std::string set_memory(std::uint64_t bytes);

}  // namespace headrace
