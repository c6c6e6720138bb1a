#include "assembly/ahead/unit_readers.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/clock.h"
#include "storage/read_waits.h"

namespace headrace {

ReadingFigures& ReadingFigures::operator+=(const ReadingFigures& more) {
  reads += more.reads, bytes += more.bytes, read_ns += more.read_ns, busy_ns += more.busy_ns;
  most_in_flight = std::max(most_in_flight, more.most_in_flight);
  ready += more.ready, late += more.late, missed += more.missed;
  return *this;
}

UnitReaders::UnitReaders(UnitLocator locator, ReadAheadOptions options, ThreadStarter starter)
    : locator_(std::move(locator)),
      options_(std::move(options)),
      start_thread_(std::move(starter)),
      count_(options_.threads, options_.reads_in_flight > 0 ? options_.reads_in_flight : ReaderCount::kMost,
             options_.reads_in_flight > 0),
      wanted_({options_.held_bytes, options_.cached_bytes}) {}

std::uint32_t UnitReaders::count() const {
  const std::lock_guard lock(mutex_);
  return count_.wanted();
}

// ------------------------------------------------------------------------------------------------------ the window

void UnitReaders::want(std::uint32_t unit, std::uint64_t sequence, bool complete) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return;
  wanted_.want(unit, sequence, complete);
  if (running_ < count_.wanted()) work_.notify_one();
}

void UnitReaders::forget_all() noexcept {
  const std::lock_guard lock(mutex_);
  for (auto& [unit, work] : works_) drop(*work);
  works_.clear();
  wanted_.forget_all();
  open_.clear();
  done_.notify_all();
}

// -------------------------------------------------------------------------------------------------- decode threads

/// What is being read is not wanted any more: reads that are not begun are not made. Memory is given back when the last
/// of the others ends.
void UnitReaders::drop(Work& work) {
  work.dropped = true;
  work.next = work.steps;
  if (work.in_flight == 0) wanted_.give_back(work.room);
}

std::shared_ptr<const FetchedPieces> UnitReaders::take(std::uint32_t unit, const Wanted* wanted) {
  using State = WantedUnits::State;
  Lock lock(mutex_);
  const State state = wanted_.state_of(unit);
  if (state == State::kNone) return nullptr;
  if (state == State::kRead) ++figures_.ready;
  if (state == State::kReading) ++figures_.late;
  if (state == State::kQueued && count_.wanted() > 0 && !stopped_) {
    ++figures_.missed;
    std::optional<WantedRows> rows;
    if (wanted != nullptr && options_.asked_rows) {
      rows.emplace().add(*wanted);
      rows->seal();
    }
    begin(lock, unit, std::move(rows));  // readers share its reads with this thread
  }
  if (const auto at = works_.find(unit); at != works_.end()) {
    const Works work = at->second;
    while (work->next < work->steps) read_step(lock, work);
    if (work->dropped) return nullptr;
    if (work->holds) {
      done_.wait(lock, [&] { return work->done || work->dropped || stopped_; });
      if (!work->done) return nullptr;
    } else if (!work->done) {
      // It finds in the page cache what was read, and waits there for what is being read.
      drop(*work);
      works_.erase(unit);
    }
  }
  return remove(unit);
}

std::shared_ptr<const FetchedPieces> UnitReaders::remove(std::uint32_t unit) {
  std::shared_ptr<const FetchedPieces> pieces = wanted_.remove(unit);
  if (running_ < count_.wanted()) work_.notify_one();
  return pieces;
}

void UnitReaders::forget(std::uint32_t unit) {
  const std::lock_guard lock(mutex_);
  if (const auto work = works_.find(unit); work != works_.end()) {
    drop(*work->second);
    works_.erase(work);
  }
  if (wanted_.state_of(unit) != WantedUnits::State::kNone) remove(unit);
}

void UnitReaders::sweep() {
  const std::lock_guard lock(mutex_);
  wanted_.sweep(locator_.num_units());
}

void UnitReaders::served(const std::shared_ptr<UnitReaders>& self, std::uint64_t waited_ns,
                         std::uint64_t worked_ns) noexcept {
  UnitReaders& r = *self;
  const std::lock_guard lock(r.mutex_);
  r.count_.served(waited_ns, worked_ns);
  const bool changed = r.count_.update(now_ns());
  if (r.stopped_ || (!changed && r.threads_.size() >= r.count_.wanted())) return;
  try {
    r.start_threads(self);
  } catch (const std::exception&) {  // no memory: those that run go on
  }
  r.work_.notify_all();
}

void UnitReaders::start(const std::shared_ptr<UnitReaders>& self, bool expects_waits) {
  UnitReaders& r = *self;
  const std::lock_guard lock(r.mutex_);
  if (r.stopped_) return;
  if (expects_waits) r.count_.expect_waits();
  r.start_threads(self);
}

/// Have as many threads as are wanted; with the lock. Where the system starts fewer, fewer will do.
void UnitReaders::start_threads(const std::shared_ptr<UnitReaders>& self) {
  threads_.reserve(count_.wanted());  // a thread that could not be put there would be joined, with the lock
  while (threads_.size() < count_.wanted() && !lacks_threads_) {
    auto thread = start_thread_("hr-read", [readers = self](const std::stop_token&) { readers->read_on(); });
    if (thread.ok()) {
      threads_.push_back(std::move(*thread));
      ++alive_;
    } else {
      lacks_threads_ = true;
    }
  }
}

std::uint32_t UnitReaders::stop(std::chrono::steady_clock::time_point until) {
  Lock lock(mutex_);
  stopped_ = true;
  work_.notify_all();
  done_.notify_all();
  ended_.wait_until(lock, until, [&] { return alive_ == 0; });
  ended_.wait(lock, [&] { return asking_ == 0; });  // these are in no call that could be stuck
  const std::uint32_t stuck = alive_;
  std::vector<std::jthread> threads = std::move(threads_);
  threads_.clear();
  wanted_.forget_all();
  lock.unlock();
  for (std::jthread& thread : threads) stuck > 0 ? thread.detach() : thread.join();
  return stuck;
}

ReadingFigures UnitReaders::figures() const {
  const std::lock_guard lock(mutex_);
  ReadingFigures all = figures_;
  if (in_flight_ > 0) all.busy_ns += now_ns() - busy_since_ns_;
  return all;
}

// --------------------------------------------------------------------------------------------------------- readers

bool UnitReaders::has_step() {
  while (!open_.empty() && open_.front()->next >= open_.front()->steps) open_.pop_front();
  return !open_.empty();
}

void UnitReaders::read_on() {
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

void UnitReaders::note_in_flight(int change) {
  if (change > 0 && in_flight_ == 0) busy_since_ns_ = now_ns();
  if (change < 0 && in_flight_ == 1) figures_.busy_ns += now_ns() - busy_since_ns_;
  in_flight_ = static_cast<std::uint32_t>(static_cast<int>(in_flight_) + change);
  figures_.most_in_flight = std::max(figures_.most_in_flight, in_flight_);
}

/// Begin the unit that is wanted next.
void UnitReaders::begin_next(Lock& lock) {
  const std::optional<std::uint32_t> unit = wanted_.next();
  if (!unit) return;
  if (options_.is_kept(*unit)) return void(wanted_.remove(*unit));
  std::optional<WantedRows> rows;
  if (options_.asked_rows) {
    // Whose lock is taken before this one's elsewhere. A decode thread may come for the unit meanwhile.
    struct Asking {
      UnitReaders& readers;
      Lock& lock;
      Asking(UnitReaders& its, Lock& held) : readers(its), lock(held) { ++readers.asking_, lock.unlock(); }
      ~Asking() { lock.lock(), --readers.asking_, readers.ended_.notify_all(); }
    };
    {
      const Asking asking(*this, lock);
      rows = options_.asked_rows(*unit);
    }
    if (stopped_ || wanted_.state_of(*unit) != WantedUnits::State::kQueued) return;
  }
  begin(lock, *unit, std::move(rows));
}

void UnitReaders::begin(Lock& lock, std::uint32_t unit, std::optional<WantedRows> wanted) {
  const auto work = std::make_shared<Work>(locator_, unit, std::move(wanted));
  works_.emplace(unit, work);
  wanted_.begin(unit);
  plan(lock, work);
}

/// Find the unit's next reads, and let readers have them; or finish it.
void UnitReaders::plan(Lock& lock, const Works& work) {
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
  if (work->dropped) return wanted_.give_back(work->room);
  if (!more.ok()) return end_work(work, nullptr);
  if (!*more) return finish(lock, work);
  const std::uint64_t held = work->job.held_bytes(), cached = work->job.cached_bytes();
  if (!wanted_.take_room({held, cached}, work->room)) return end_work(work, nullptr);
  work->holds = held > 0;
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
void UnitReaders::read_step(Lock& lock, const Works& work) {
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
  count_.read(took_ns);
  work->waited_ns += waited_ns;
  if (failed) work->failed = true, work->next = work->steps;
  --work->in_flight;
  if (work->in_flight > 0 || (work->next < work->steps && !work->failed)) return;
  if (work->dropped) return wanted_.give_back(work->room);
  work->failed ? end_work(work, nullptr) : plan(lock, work);
}

void UnitReaders::finish(Lock& lock, const Works& work) {
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
  work->dropped ? wanted_.give_back(work->room) : end_work(work, std::move(pieces));
}

/// The unit waits for its decode thread, which reads for itself what is not here.
void UnitReaders::end_work(const Works& work, std::shared_ptr<const FetchedPieces> pieces) {
  work->done = true;
  works_.erase(work->unit);
  if (!pieces) wanted_.give_back_held(work->room);
  if (!wanted_.finish(work->unit, work->room, std::move(pieces))) wanted_.give_back(work->room);  // stopped meanwhile
  if (work->holds) done_.notify_all();
}

}  // namespace headrace
