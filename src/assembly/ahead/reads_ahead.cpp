#include "assembly/ahead/reads_ahead.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/clock.h"
#include "storage/storage_kind.h"

namespace headrace {

ReadsAhead::ReadsAhead(UnitLocator locator, ReadAheadOptions options, ThreadStarter starter)
    : readers_(std::make_shared<UnitReaders>(std::move(locator), std::move(options), std::move(starter))) {}

ReadsAhead::~ReadsAhead() {
  stop({});
}

void ReadsAhead::start(const std::string& path) noexcept {
  try {
    UnitReaders::start(readers_, files_answer_late() || storage_of(path).shared());
  } catch (const std::exception&) {  // no memory: decode threads read for themselves
  }
}

void ReadsAhead::wanted(std::uint32_t unit, std::uint64_t sequence) noexcept {
  try {
    readers_->want(unit, sequence, false);
  } catch (const std::exception&) {  // no memory: its decode thread reads for itself
  }
}

void ReadsAhead::complete(std::uint32_t unit, std::uint64_t sequence) noexcept {
  try {
    readers_->want(unit, sequence, true);
  } catch (const std::exception&) {  // no memory: as if it were wanted only
  }
}

void ReadsAhead::delivered(std::uint64_t sequence) noexcept {
  readers_->delivered(sequence);
}

void ReadsAhead::forget_all() noexcept {
  readers_->forget_all();
}

std::shared_ptr<const FetchedPieces> ReadsAhead::take(std::uint32_t unit, const Wanted* wanted) noexcept {
  try {
    return readers_->take(unit, wanted);
  } catch (const std::exception&) {  // no memory to note that it is wanted again: that read is its decode thread's own
    return nullptr;
  }
}

void ReadsAhead::served(std::uint64_t waited_ns, std::uint64_t worked_ns) noexcept {
  UnitReaders::served(readers_, waited_ns, worked_ns);
}

void ReadsAhead::forget(std::uint32_t unit) noexcept {
  try {
    readers_->forget(unit);
  } catch (const std::exception&) {  // no memory to note that it is wanted again
  }
}

void ReadsAhead::sweep() {
  readers_->sweep();
}

std::uint32_t ReadsAhead::stop(std::chrono::steady_clock::time_point until) {
  return readers_->stop(until);
}

ReadingFigures ReadsAhead::figures() const {
  return readers_->figures();
}

std::uint32_t ReadsAhead::readers() const {
  return readers_->count();
}

// ----------------------------------------------------------------------------------------------------- UnitReading

UnitReading::UnitReading(ReadsAhead* ahead, std::uint32_t unit, const Wanted* wanted, StageClock& clock)
    : ahead_(ahead), start_ns_(now_ns()) {
  if (ahead_ == nullptr) return;
  const bool may_wait = ahead_->readers() > 0;
  pieces_ = ahead_->take(unit, wanted);
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
