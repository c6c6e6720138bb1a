#include "assembly/ahead/reads_ahead.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <queue>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "assembly/ahead/read_job.h"
#include "assembly/ahead/reader_count.h"
#include "base/clock.h"

namespace headrace {
namespace {

constexpr std::chrono::seconds kLongest{5};  // that the end of readers is waited for
constexpr double kHalf = 0.5, kMost = 0.75;  // of the room
constexpr std::uint64_t kSoonBatches = 2;
constexpr double kUnitsOfMean = 16;  // that a running mean is of, about

}  // namespace

ReadingFigures& ReadingFigures::operator+=(const ReadingFigures& more) {
  reads += more.reads, bytes += more.bytes, read_ns += more.read_ns, busy_ns += more.busy_ns;
  most_in_flight = std::max(most_in_flight, more.most_in_flight);
  ready += more.ready, late += more.late, missed += more.missed;
  return *this;
}

class ReadsAhead::Core {
 public:
  Core(UnitLocator locator, const Options& options, std::function<bool(std::uint32_t)> is_kept, ThreadStarter starter)
      : locator_(std::move(locator)),
        options_(options),
        is_kept_(std::move(is_kept)),
        start_thread_(std::move(starter)),
        count_(options.threads, options.reads_in_flight > 0 ? options.reads_in_flight : ReaderCount::kMost,
               options.reads_in_flight > 0) {}

  void want(std::uint32_t unit, std::uint64_t sequence, bool complete);
  void delivered(std::uint64_t sequence) { head_.store(sequence, std::memory_order_relaxed); }
  void forget_all();
  std::shared_ptr<const FetchedPieces> take(std::uint32_t unit);
  void forget(std::uint32_t unit);
  void sweep();
  void served(const std::shared_ptr<Core>& self, std::uint64_t waited_ns, std::uint64_t worked_ns);
  std::uint32_t stop();
  [[nodiscard]] ReadingFigures figures() const;
  [[nodiscard]] std::uint32_t readers() const {
    const std::lock_guard lock(mutex_);
    return count_.wanted();
  }
  void start_readers(const std::shared_ptr<Core>& self);

 private:
  using Lock = std::unique_lock<std::mutex>;
  /// Bytes that are held, and that wait in the page cache.
  struct Room {
    std::uint64_t held_bytes = 0, cached_bytes = 0;
  };
  /// A unit that is wanted.
  struct Unit {
    enum class State : std::uint8_t { kQueued, kReading, kRead } state = State::kQueued;
    bool complete = false;
    std::uint64_t version = 0;           // of its place in the queue
    std::optional<std::uint64_t> again;  // the batch that will want it after this
    Room room;
    std::shared_ptr<const FetchedPieces> pieces;
  };
  struct Place {  // in a queue, stale when the version moved on
    std::uint64_t sequence, version;
    std::uint32_t unit;
    friend bool operator>(const Place& a, const Place& b) { return a.sequence > b.sequence; }
  };
  using Queue = std::priority_queue<Place, std::vector<Place>, std::greater<>>;  // the oldest need first
  /// Reads of a unit that is being read. Its steps are handed out under the lock.
  struct Work {
    Work(const UnitLocator& locator, std::uint32_t its_unit) : job(locator, its_unit), unit(its_unit) {}
    ReadJob job;
    std::uint32_t unit;
    std::size_t steps = 0, next = 0, in_flight = 0;  // of the job, as it was planned; it may be planning on
    std::uint64_t waited_ns = 0;
    Room room;
    bool failed = false;
    bool dropped = false;  // it is not wanted any more, and not in `units_`
    bool holds = false;    // memory of its own
    bool done = false;
  };
  using Works = std::shared_ptr<Work>;

  [[nodiscard]] bool has_step();
  bool is_waiting(Queue& queue);
  [[nodiscard]] Queue* next_queue();
  [[nodiscard]] bool may_sweep() { return sweeps_ && swept_ < locator_.num_units() && has_room(kHalf); }
  [[nodiscard]] bool has_unit() { return next_queue() != nullptr || may_sweep(); }
  [[nodiscard]] bool may_work() { return running_ < count_.wanted() && (has_step() || has_unit()); }
  void read_on();
  void read_step(Lock& lock, const Works& work);
  void begin_next(Lock& lock);
  void begin(Lock& lock, std::uint32_t unit);
  void plan(Lock& lock, const Works& work);
  void finish(Lock& lock, const Works& work);
  void end_work(const Works& work, std::shared_ptr<const FetchedPieces> pieces);
  [[nodiscard]] bool has_room(double share) const;
  void give_back(Room& room);
  std::shared_ptr<const FetchedPieces> remove(std::uint32_t unit);
  void drop(Work& work);
  void note_in_flight(int change);

  const UnitLocator locator_;
  const Options options_;
  const std::function<bool(std::uint32_t)> is_kept_;
  const ThreadStarter start_thread_;

  mutable std::mutex mutex_;
  std::condition_variable work_, done_, ended_;
  ReaderCount count_;
  std::unordered_map<std::uint32_t, Unit> units_;
  std::unordered_map<std::uint32_t, Works> works_;  // of units that are being read
  Queue needed_, complete_;                         // all that are wanted, and those of them that may be claimed now
  std::atomic<std::uint64_t> head_{0};
  std::deque<Works> open_;  // with steps that no reader makes yet
  std::uint64_t version_ = 0;
  Room room_;                   // that is taken
  double mean_held_bytes_ = 0;  // of a unit
  std::uint32_t running_ = 0;   // readers that are at work
  std::uint32_t in_flight_ = 0;
  std::uint64_t busy_since_ns_ = 0;
  ReadingFigures figures_;
  std::uint32_t swept_ = 0;  // units that the sweep is past
  bool sweeps_ = false, stopped_ = false, lacks_threads_ = false;
  std::vector<std::jthread> threads_;
  std::uint32_t alive_ = 0;
};

// ------------------------------------------------------------------------------------------------------ the window

void ReadsAhead::Core::want(std::uint32_t unit, std::uint64_t sequence, bool complete) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return;
  const auto [at, is_new] = units_.try_emplace(unit);
  Unit& u = at->second;
  if (!is_new && u.state != Unit::State::kQueued) {
    if (!complete) u.again = sequence;
    return;
  }
  if (!is_new && (u.complete || !complete)) return;
  if (is_new) {
    u.version = ++version_;
    needed_.push({sequence, u.version, unit});
  }
  u.complete = complete;
  if (complete) complete_.push({sequence, u.version, unit});
  if (running_ < count_.wanted()) work_.notify_one();
}

void ReadsAhead::Core::forget_all() {
  const std::lock_guard lock(mutex_);
  for (auto& [unit, work] : works_) drop(*work);
  for (auto& [number, unit] : units_) give_back(unit.room);
  works_.clear();
  units_.clear();
  needed_ = complete_ = {};
  open_.clear();
  done_.notify_all();
}

// -------------------------------------------------------------------------------------------------- decode threads

void ReadsAhead::Core::give_back(Room& room) {
  room_.held_bytes -= room.held_bytes;
  room_.cached_bytes -= room.cached_bytes;
  room = {};
}

/// What is being read is not wanted any more: reads that are not begun are not made. Memory is given back when the last
/// of the others ends.
void ReadsAhead::Core::drop(Work& work) {
  work.dropped = true;
  work.next = work.steps;
  if (work.in_flight == 0) give_back(work.room);
}

std::shared_ptr<const FetchedPieces> ReadsAhead::Core::take(std::uint32_t unit) {
  Lock lock(mutex_);
  auto at = units_.find(unit);
  if (at == units_.end()) return nullptr;
  if (at->second.state == Unit::State::kRead) ++figures_.ready;
  if (at->second.state == Unit::State::kReading) ++figures_.late;
  if (at->second.state == Unit::State::kQueued && count_.wanted() > 0 && !stopped_) {
    ++figures_.missed;
    begin(lock, unit);  // readers share its reads with this thread
    at = units_.find(unit);
    if (at == units_.end()) return nullptr;
  }
  if (at->second.state == Unit::State::kReading) {
    const Works work = works_.at(unit);
    while (work->next < work->steps) read_step(lock, work);
    if (work->holds) {
      done_.wait(lock, [&] { return work->done || work->dropped || stopped_; });
      at = units_.find(unit);
      if (!work->done || at == units_.end()) return nullptr;
    } else {  // it finds in the page cache what was read, and waits there for what is being read
      at = units_.find(unit);
      if (at == units_.end()) return nullptr;
      if (!work->done) {
        drop(*work);
        works_.erase(unit);
      }
    }
  }
  return remove(unit);
}

/// Let the unit go, unless a later batch wants it again. \return What was held of it.
std::shared_ptr<const FetchedPieces> ReadsAhead::Core::remove(std::uint32_t unit) {
  const auto at = units_.find(unit);
  Unit taken = std::move(at->second);
  units_.erase(at);
  give_back(taken.room);
  if (taken.again) {
    Unit& next = units_[unit];
    next.version = ++version_;
    needed_.push({*taken.again, next.version, unit});
  }
  for (Queue* queue : {&needed_, &complete_}) is_waiting(*queue);  // also where no reader ever takes something out
  if (running_ < count_.wanted()) work_.notify_one();
  return std::move(taken.pieces);
}

void ReadsAhead::Core::forget(std::uint32_t unit) {
  const std::lock_guard lock(mutex_);
  if (!units_.contains(unit)) return;
  if (const auto work = works_.find(unit); work != works_.end()) {
    drop(*work->second);
    works_.erase(work);
  }
  remove(unit);
}

void ReadsAhead::Core::sweep() {
  const std::lock_guard lock(mutex_);
  sweeps_ = true;
}

void ReadsAhead::Core::served(const std::shared_ptr<Core>& self, std::uint64_t waited_ns, std::uint64_t worked_ns) {
  const std::lock_guard lock(mutex_);
  count_.served(waited_ns, worked_ns);
  const bool changed = count_.update(now_ns());
  if (stopped_ || (!changed && threads_.size() >= count_.wanted())) return;
  try {
    start_readers(self);
  } catch (const std::exception&) {  // no memory: those that run go on
  }
  work_.notify_all();
}

/// Have as many threads as are wanted; with the lock. Where the system starts fewer, fewer will do.
void ReadsAhead::Core::start_readers(const std::shared_ptr<Core>& self) {
  threads_.reserve(count_.wanted());  // a thread that could not be put there would be joined, with the lock
  while (threads_.size() < count_.wanted() && !lacks_threads_) {
    auto thread = start_thread_("hr-read", [core = self](const std::stop_token&) { core->read_on(); });
    if (thread.ok()) {
      threads_.push_back(std::move(*thread));
      ++alive_;
    } else {
      lacks_threads_ = true;
    }
  }
}

std::uint32_t ReadsAhead::Core::stop() {
  Lock lock(mutex_);
  stopped_ = true;
  work_.notify_all();
  done_.notify_all();
  ended_.wait_for(lock, kLongest, [&] { return alive_ == 0; });
  const std::uint32_t stuck = alive_;
  std::vector<std::jthread> threads = std::move(threads_);
  threads_.clear();
  units_.clear();
  lock.unlock();
  for (std::jthread& thread : threads) stuck > 0 ? thread.detach() : thread.join();
  return stuck;
}

ReadingFigures ReadsAhead::Core::figures() const {
  const std::lock_guard lock(mutex_);
  ReadingFigures all = figures_;
  if (in_flight_ > 0) all.busy_ns += now_ns() - busy_since_ns_;
  return all;
}

// --------------------------------------------------------------------------------------------------------- readers

bool ReadsAhead::Core::has_step() {
  while (!open_.empty() && open_.front()->next >= open_.front()->steps) open_.pop_front();
  return !open_.empty();
}

/// Look for the first unit of a queue that waits, and drop what is before it. \return False where there is none.
bool ReadsAhead::Core::is_waiting(Queue& queue) {
  for (; !queue.empty(); queue.pop()) {
    const auto at = units_.find(queue.top().unit);
    const bool waits = at != units_.end() && at->second.state == Unit::State::kQueued;
    if (waits && at->second.version == queue.top().version) return true;
  }
  return false;
}

/// Return where the unit is that decode threads will come for first: what the oldest batches need, then what can be
/// claimed, then the rest. Each has room that those behind it do not take. Null: none may be begun.
ReadsAhead::Core::Queue* ReadsAhead::Core::next_queue() {
  const bool any = is_waiting(needed_);
  if (any && needed_.top().sequence <= head_.load(std::memory_order_relaxed) + kSoonBatches)
    return has_room(1) ? &needed_ : nullptr;
  if (is_waiting(complete_) && has_room(kMost)) return &complete_;
  return any && has_room(kHalf) ? &needed_ : nullptr;
}

bool ReadsAhead::Core::has_room(double share) const {
  const double held = static_cast<double>(room_.held_bytes) + static_cast<double>(works_.size()) * mean_held_bytes_;
  return held <= share * static_cast<double>(options_.held_bytes) &&
         static_cast<double>(room_.cached_bytes) <= share * static_cast<double>(options_.cached_bytes);
}

void ReadsAhead::Core::read_on() {
  Lock lock(mutex_);
  try {
    while (!stopped_) {
      work_.wait(lock, [&] { return stopped_ || may_work(); });
      if (stopped_) break;
      ++running_;
      if (may_work()) work_.notify_one();
      try {
        if (has_step()) {
          const Works work = open_.front();
          read_step(lock, work);
        } else {
          begin_next(lock);
        }
      } catch (const std::exception&) {  // no memory: the decode thread reads for itself
        if (!lock.owns_lock()) lock.lock();
      }
      --running_;
    }
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
  }
  --alive_;
  ended_.notify_all();
}

void ReadsAhead::Core::note_in_flight(int change) {
  if (change > 0 && in_flight_ == 0) busy_since_ns_ = now_ns();
  if (change < 0 && in_flight_ == 1) figures_.busy_ns += now_ns() - busy_since_ns_;
  in_flight_ = static_cast<std::uint32_t>(static_cast<int>(in_flight_) + change);
  figures_.most_in_flight = std::max(figures_.most_in_flight, in_flight_);
}

/// Begin the unit that is wanted next.
void ReadsAhead::Core::begin_next(Lock& lock) {
  Queue* const queue = next_queue();
  const std::uint32_t unit = queue ? queue->top().unit : swept_++;
  if (queue)
    queue->pop();
  else if (!units_.try_emplace(unit).second)
    return;
  is_kept_(unit) ? void(units_.erase(unit)) : begin(lock, unit);
}

void ReadsAhead::Core::begin(Lock& lock, std::uint32_t unit) {
  const auto work = std::make_shared<Work>(locator_, unit);
  works_.emplace(unit, work);
  units_.at(unit).state = Unit::State::kReading;
  plan(lock, work);
}

/// Find the unit's next reads, and let readers have them; or finish it.
void ReadsAhead::Core::plan(Lock& lock, const Works& work) {
  work->steps = work->next = 0;  // until it is known which there are
  work->in_flight = 1;           // this thread's
  note_in_flight(1);
  lock.unlock();
  const WaitsHere waits;
  Result<bool> more = false;
  try {
    more = work->job.plan();
    if (more.ok() && *more && work->job.held_bytes() > 0)
      if (const Status memory = work->job.prepare(); !memory.ok()) more = memory.error();
  } catch (const std::exception&) {
    more = Error(ErrorCode::kOutOfBudget, "no memory to read ahead");
  }
  const std::uint64_t waited_ns = waits.waited_ns();
  lock.lock();
  note_in_flight(-1);
  work->in_flight = 0;
  work->waited_ns += waited_ns;
  if (work->dropped) return give_back(work->room);
  if (!more.ok()) return end_work(work, nullptr);
  if (!*more) return finish(lock, work);
  const std::uint64_t held = work->job.held_bytes(), cached = work->job.cached_bytes();
  if (held > 0) {
    if (room_.held_bytes + held > options_.held_bytes) return end_work(work, nullptr);
    mean_held_bytes_ += (static_cast<double>(held) - mean_held_bytes_) / kUnitsOfMean;
    work->holds = true;
    work->room.held_bytes = held;
    room_.held_bytes += held;
  }
  work->room.cached_bytes += cached;
  room_.cached_bytes += cached;
  if (work->job.num_steps() == 0) return plan(lock, work);
  try {
    open_.push_back(work);
  } catch (const std::exception&) {
    return end_work(work, nullptr);
  }
  work->steps = work->job.num_steps();
  for (std::size_t i = 1; i < work->steps && running_ + i <= count_.wanted(); ++i) work_.notify_one();
}

/// Make the next read of a unit. \param work  The caller's own: it may be taken out of every list meanwhile.
void ReadsAhead::Core::read_step(Lock& lock, const Works& work) {
  thread_local std::vector<std::byte> sink;  // of bytes that go to the page cache
  const std::size_t step = work->next++;
  ++work->in_flight;
  note_in_flight(1);
  lock.unlock();
  const WaitsHere waits;
  const std::uint64_t start = now_ns();
  bool failed = true;
  try {
    if (sink.empty()) sink.resize(ReadJob::kStepBytes);
    failed = !work->job.read(step, sink).ok();
  } catch (const std::exception&) {  // no memory: it has failed
  }
  const std::uint64_t waited_ns = waits.waited_ns(), took_ns = now_ns() - start;
  lock.lock();
  note_in_flight(-1);
  ++figures_.reads;
  figures_.bytes += work->job.step_bytes(step);
  figures_.read_ns += took_ns;
  work->waited_ns += waited_ns;
  if (failed) work->failed = true, work->next = work->steps;
  --work->in_flight;
  if (work->in_flight > 0 || (work->next < work->steps && !work->failed)) return;
  if (work->dropped) return give_back(work->room);
  work->failed ? end_work(work, nullptr) : plan(lock, work);
}

void ReadsAhead::Core::finish(Lock& lock, const Works& work) {
  work->in_flight = 1;
  lock.unlock();
  const WaitsHere waits;
  std::shared_ptr<const FetchedPieces> pieces;
  try {
    if (auto result = work->job.result(); result.ok()) pieces = std::move(*result);
  } catch (const std::exception&) {  // no memory: nothing is held
  }
  const std::uint64_t waited_ns = waits.waited_ns();
  lock.lock();
  work->in_flight = 0;
  work->waited_ns += waited_ns;
  count_.fetched(work->waited_ns);
  work->dropped ? give_back(work->room) : end_work(work, std::move(pieces));
}

/// The unit waits for its decode thread, which reads for itself what is not here.
void ReadsAhead::Core::end_work(const Works& work, std::shared_ptr<const FetchedPieces> pieces) {
  work->done = true;
  works_.erase(work->unit);
  const auto at = units_.find(work->unit);
  if (at == units_.end()) return give_back(work->room);  // stopped meanwhile
  Unit& unit = at->second;
  unit.state = Unit::State::kRead;
  if (!pieces) room_.held_bytes -= std::exchange(work->room.held_bytes, 0);
  unit.room = std::exchange(work->room, {});
  unit.pieces = std::move(pieces);
  if (work->holds) done_.notify_all();
}

// ------------------------------------------------------------------------------------------------------ ReadsAhead

ReadsAhead::ReadsAhead(UnitLocator locator, const Options& options, std::function<bool(std::uint32_t)> is_kept,
                       ThreadStarter starter)
    : core_(std::make_shared<Core>(std::move(locator), options, std::move(is_kept), std::move(starter))) {}

ReadsAhead::~ReadsAhead() {
  stop();
}

void ReadsAhead::wanted(std::uint32_t unit, std::uint64_t sequence) noexcept {
  try {
    core_->want(unit, sequence, false);
  } catch (const std::exception&) {  // no memory: its decode thread reads for itself
  }
}

void ReadsAhead::complete(std::uint32_t unit, std::uint64_t sequence) noexcept {
  try {
    core_->want(unit, sequence, true);
  } catch (const std::exception&) {  // no memory: as if it were wanted only
  }
}

void ReadsAhead::delivered(std::uint64_t sequence) noexcept {
  core_->delivered(sequence);
}

void ReadsAhead::forget_all() noexcept {
  core_->forget_all();
}

std::shared_ptr<const FetchedPieces> ReadsAhead::take(std::uint32_t unit) noexcept {
  try {
    return core_->take(unit);
  } catch (const std::exception&) {  // no memory to note that it is wanted again: that read is its decode thread's own
    return nullptr;
  }
}

void ReadsAhead::served(std::uint64_t waited_ns, std::uint64_t worked_ns) noexcept {
  core_->served(core_, waited_ns, worked_ns);
}

void ReadsAhead::forget(std::uint32_t unit) noexcept {
  try {
    core_->forget(unit);
  } catch (const std::exception&) {  // no memory to note that it is wanted again
  }
}

void ReadsAhead::sweep() {
  core_->sweep();
}

std::uint32_t ReadsAhead::stop() {
  return core_->stop();
}

ReadingFigures ReadsAhead::figures() const {
  return core_->figures();
}

std::uint32_t ReadsAhead::readers() const {
  return core_->readers();
}

// ----------------------------------------------------------------------------------------------------- UnitReading

UnitReading::UnitReading(ReadsAhead* ahead, std::uint32_t unit, StageClock& clock)
    : ahead_(ahead), start_ns_(now_ns()) {
  if (ahead_ == nullptr) return;
  const bool may_wait = ahead_->readers() > 0;
  pieces_ = ahead_->take(unit);
  if (!may_wait) return;
  taking_ns_ = now_ns() - start_ns_;
  clock.add(Stage::kRead, taking_ns_, 0, 0);
}

UnitReading::~UnitReading() {
  if (ahead_ == nullptr) return;
  const std::uint64_t all_ns = now_ns() - start_ns_, waited_ns = std::min(all_ns, taking_ns_ + waits_.waited_ns());
  ahead_->served(waited_ns, all_ns - waited_ns);
}

}  // namespace headrace
