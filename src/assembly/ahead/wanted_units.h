// WantedUnits: the units that are to be read before their decode threads come for them: which is next, and what room
// there is for them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "assembly/fetched_pieces.h"

namespace headrace {

/// Threads: one at a time, but for set_head().
class WantedUnits {
 public:
  /// Bytes that are held, and that wait in the page cache.
  struct Room {
    std::uint64_t held_bytes = 0, cached_bytes = 0;
  };
  enum class State : std::uint8_t { kNone, kQueued, kReading, kRead };

  explicit WantedUnits(Room most) : most_(most) {}

  /// Note that a unit is wanted, first by batch `sequence`; `complete`: decode threads may come for it now. One that is
  /// being read, or was, is wanted again after that.
  void want(std::uint32_t unit, std::uint64_t sequence, bool complete);
  /// Set the batch that is waited for. Threads: any.
  void set_head(std::uint64_t sequence) { head_.store(sequence, std::memory_order_relaxed); }
  /// Note that all units below `num_units` are wanted, in that order, where nothing else is.
  void sweep(std::uint32_t num_units) { sweep_end_ = num_units; }
  [[nodiscard]] State state_of(std::uint32_t unit) const;
  /// Return true if there is a unit to read, and room for it.
  [[nodiscard]] bool has_next() { return next_queue() != nullptr || may_sweep(); }
  /// Return the unit that decode threads will come for first: what the oldest batches need, then what can be claimed,
  /// then the rest. Each has room that those behind it do not take. Nullopt: there is none. It is to be begun, or
  /// removed.
  std::optional<std::uint32_t> next();
  /// Note that the unit is being read.
  void begin(std::uint32_t unit);
  /// Note that it was read. \param room  It is the unit's from now on. \return False where it is wanted no more.
  bool finish(std::uint32_t unit, Room room, std::shared_ptr<const FetchedPieces> pieces);
  /// Let the unit go, with its room, unless a later batch wants it again. \return What was held of it.
  std::shared_ptr<const FetchedPieces> remove(std::uint32_t unit);
  void forget_all();

  /// Take room for a unit that is being read. \return False where there is not as much.
  bool take_room(Room room, Room& taken);
  /// Give it back.
  void give_back(Room& taken);
  /// Give back that of held bytes.
  void give_back_held(Room& taken) { taken_.held_bytes -= std::exchange(taken.held_bytes, 0); }

 private:
  struct Unit {
    State state = State::kQueued;
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

  bool is_waiting(Queue& queue);
  [[nodiscard]] Queue* next_queue();
  [[nodiscard]] bool may_sweep() const;
  [[nodiscard]] bool has_room(double share) const;

  const Room most_;
  Room taken_;
  double mean_held_bytes_ = 0;  // of a unit
  std::unordered_map<std::uint32_t, Unit> units_;
  std::uint64_t num_reading_ = 0;
  Queue needed_, complete_;  // all that are wanted, and those of them that may be claimed now
  std::atomic<std::uint64_t> head_{0};
  std::uint64_t version_ = 0;
  std::uint32_t swept_ = 0, sweep_end_ = 0;
};

}  // namespace headrace
