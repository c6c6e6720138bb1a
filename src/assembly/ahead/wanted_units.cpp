#include "assembly/ahead/wanted_units.h"

#include <utility>

namespace headrace {
namespace {

constexpr double kAll = 1, kMost = 0.75, kHalf = 0.5;  // of the room
constexpr std::uint64_t kSoonBatches = 2;
constexpr double kUnitsOfMean = 16;  // that a running mean is of, about

}  // namespace

void WantedUnits::want(std::uint32_t unit, std::uint64_t sequence, bool complete) {
  const auto [at, is_new] = units_.try_emplace(unit);
  Unit& u = at->second;
  if (!is_new && u.state != State::kQueued) {
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
}

WantedUnits::State WantedUnits::state_of(std::uint32_t unit) const {
  const auto at = units_.find(unit);
  return at == units_.end() ? State::kNone : at->second.state;
}

/// Look for the first unit of a queue that waits, and drop what is before it. \return False where there is none.
bool WantedUnits::is_waiting(Queue& queue) {
  for (; !queue.empty(); queue.pop()) {
    const auto at = units_.find(queue.top().unit);
    const bool waits = at != units_.end() && at->second.state == State::kQueued;
    if (waits && at->second.version == queue.top().version) return true;
  }
  return false;
}

WantedUnits::Queue* WantedUnits::next_queue() {
  const bool any = is_waiting(needed_);
  if (any && needed_.top().sequence <= head_.load(std::memory_order_relaxed) + kSoonBatches)
    return has_room(kAll) ? &needed_ : nullptr;
  if (is_waiting(complete_) && has_room(kMost)) return &complete_;
  return any && has_room(kHalf) ? &needed_ : nullptr;
}

bool WantedUnits::may_sweep() const {
  return swept_ < sweep_end_ && has_room(kHalf);
}

/// What is being read and did not say yet what it holds counts as the mean of the others.
bool WantedUnits::has_room(double share) const {
  const double held = static_cast<double>(taken_.held_bytes) + static_cast<double>(num_reading_) * mean_held_bytes_;
  return held <= share * static_cast<double>(most_.held_bytes) &&
         static_cast<double>(taken_.cached_bytes) <= share * static_cast<double>(most_.cached_bytes);
}

std::optional<std::uint32_t> WantedUnits::next() {
  if (Queue* const queue = next_queue()) {
    const std::uint32_t unit = queue->top().unit;
    queue->pop();
    return unit;
  }
  while (may_sweep())
    if (const std::uint32_t unit = swept_++; units_.try_emplace(unit).second) return unit;
  return std::nullopt;
}

void WantedUnits::begin(std::uint32_t unit) {
  units_.at(unit).state = State::kReading;
  ++num_reading_;
}

bool WantedUnits::finish(std::uint32_t unit, Room room, std::shared_ptr<const FetchedPieces> pieces) {
  const auto at = units_.find(unit);
  if (at == units_.end()) return false;
  at->second.state = State::kRead;
  at->second.room = room;
  at->second.pieces = std::move(pieces);
  --num_reading_;
  return true;
}

std::shared_ptr<const FetchedPieces> WantedUnits::remove(std::uint32_t unit) {
  const auto at = units_.find(unit);
  if (at == units_.end()) return nullptr;
  Unit removed = std::move(at->second);
  units_.erase(at);
  if (removed.state == State::kReading) --num_reading_;
  give_back(removed.room);
  if (removed.again) {
    Unit& next = units_[unit];
    next.version = ++version_;
    needed_.push({*removed.again, next.version, unit});
  }
  for (Queue* queue : {&needed_, &complete_}) is_waiting(*queue);  // also where no reader ever takes something out
  return std::move(removed.pieces);
}

void WantedUnits::forget_all() {
  for (auto& [number, unit] : units_) give_back(unit.room);
  units_.clear();
  num_reading_ = 0;
  needed_ = complete_ = {};
}

bool WantedUnits::take_room(Room room, Room& taken) {
  if (room.held_bytes > 0) {
    if (taken_.held_bytes + room.held_bytes > most_.held_bytes) return false;
    mean_held_bytes_ += (static_cast<double>(room.held_bytes) - mean_held_bytes_) / kUnitsOfMean;
  }
  for (Room* sum : {&taken_, &taken}) sum->held_bytes += room.held_bytes, sum->cached_bytes += room.cached_bytes;
  return true;
}

void WantedUnits::give_back(Room& taken) {
  taken_.held_bytes -= taken.held_bytes;
  taken_.cached_bytes -= taken.cached_bytes;
  taken = {};
}

}  // namespace headrace
