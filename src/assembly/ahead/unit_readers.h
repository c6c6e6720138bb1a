// UnitReaders: threads that read units ahead of decoding, and what they have read. What ReadsAhead is made of, and what
// its threads keep alive where one of them is stuck in a call.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "assembly/ahead/read_job.h"
#include "assembly/ahead/reader_count.h"
#include "assembly/ahead/unit_locator.h"
#include "assembly/ahead/wanted_units.h"
#include "base/threads/parallel.h"

namespace headrace {

/// What reads ahead of decoding have done so far.
struct ReadingFigures {
  std::uint64_t reads = 0, bytes = 0;
  std::uint64_t read_ns = 0;         ///< Summed over reads.
  std::uint64_t busy_ns = 0;         ///< While any read was in flight.
  std::uint32_t most_in_flight = 0;  ///< Reads at once.
  /// Units that decode threads came for: read by then, being read, and not begun.
  std::uint64_t ready = 0, late = 0, missed = 0;
  ReadingFigures& operator+=(const ReadingFigures& more);
};

/// What is read ahead, and how much.
struct ReadAheadOptions {
  std::uint32_t threads = 1;          ///< That decode.
  std::uint32_t reads_in_flight = 0;  ///< As the user said; 0: by what is measured.
  std::uint64_t held_bytes = 0;       ///< Most bytes that are held.
  std::uint64_t cached_bytes = 0;     ///< Most bytes that wait in the page cache.
  /// Says of a unit that its files will not be read.
  std::function<bool(std::uint32_t)> is_kept;
  /// Returns the rows of a unit that batches have asked for by now; nullopt: they ask for all, or for something else.
  /// Empty: for all, always.
  std::function<std::optional<WantedRows>(std::uint32_t)> asked_rows = {};
};

/// Threads: any. May throw std::bad_alloc where that is not said otherwise.
class UnitReaders {
 public:
  UnitReaders(UnitLocator locator, ReadAheadOptions options, ThreadStarter starter);

  void want(std::uint32_t unit, std::uint64_t sequence, bool complete);
  void delivered(std::uint64_t sequence) noexcept { wanted_.set_head(sequence); }
  void forget_all() noexcept;
  std::shared_ptr<const FetchedPieces> take(std::uint32_t unit, const Wanted* wanted);
  void forget(std::uint32_t unit);
  void sweep();
  /// As ReadsAhead::start(), and served(). \param self  This: threads that are started hold it.
  static void start(const std::shared_ptr<UnitReaders>& self, bool expects_waits);
  static void served(const std::shared_ptr<UnitReaders>& self, std::uint64_t waited_ns,
                     std::uint64_t worked_ns) noexcept;
  std::uint32_t stop(std::chrono::steady_clock::time_point until);
  [[nodiscard]] ReadingFigures figures() const;
  [[nodiscard]] std::uint32_t count() const;

 private:
  using Lock = std::unique_lock<std::mutex>;
  /// Reads of a unit that is being read. Its steps are handed out under the lock.
  struct Work {
    Work(const UnitLocator& locator, std::uint32_t its_unit, std::optional<WantedRows> wanted)
        : job(locator, its_unit, std::move(wanted)), unit(its_unit) {}
    ReadJob job;
    std::uint32_t unit;
    std::size_t steps = 0, next = 0, in_flight = 0;  // of the job, as it was planned; it may be planning on
    std::uint64_t waited_ns = 0;
    WantedUnits::Room room;
    bool failed = false;
    bool dropped = false;  // it is not wanted any more, and not in `works_`
    bool holds = false;    // memory of its own
    bool done = false;
  };
  using Works = std::shared_ptr<Work>;

  [[nodiscard]] bool has_step();
  [[nodiscard]] bool may_work() { return running_ < count_.wanted() && (has_step() || wanted_.has_next()); }
  void start_threads(const std::shared_ptr<UnitReaders>& self);
  void read_on();
  void read_step(Lock& lock, const Works& work);
  void begin_next(Lock& lock);
  void begin(Lock& lock, std::uint32_t unit, std::optional<WantedRows> wanted);
  void plan(Lock& lock, const Works& work);
  void finish(Lock& lock, const Works& work);
  void end_work(const Works& work, std::shared_ptr<const FetchedPieces> pieces);
  std::shared_ptr<const FetchedPieces> remove(std::uint32_t unit);
  void drop(Work& work);
  void note_in_flight(int change);

  const UnitLocator locator_;
  const ReadAheadOptions options_;
  const ThreadStarter start_thread_;

  mutable std::mutex mutex_;
  std::condition_variable work_, done_, ended_;
  ReaderCount count_;
  WantedUnits wanted_;
  std::unordered_map<std::uint32_t, Works> works_;  // of units that are being read
  std::deque<Works> open_;                          // with steps that no reader makes yet
  std::uint32_t running_ = 0;                       // readers that are at work
  std::uint32_t in_flight_ = 0;
  std::uint64_t busy_since_ns_ = 0;
  ReadingFigures figures_;
  bool stopped_ = false, lacks_threads_ = false;
  std::vector<std::jthread> threads_;
  std::uint32_t alive_ = 0, asking_ = 0;  // of them, and those that ask for rows just now
};

}  // namespace headrace
