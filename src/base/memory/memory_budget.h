// MemoryBudget: one number of bytes over everything that Headrace holds.
//
// Budgets form a tree: the process's at the root, a loader's `memory` as a cap inside it. A reservation counts against
// its budget and every budget above it, all or none. Nothing is allocated here: reserve first, allocate then.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace headrace {

/// What memory is held for.
enum class MemoryTag : std::uint8_t {
  kWindowSlots,
  kScratch,
  kReadBuffers,
  kResidentFields,
  kIndex,
  kBlockCache,
  kStaging,
  kOther
};
inline constexpr std::size_t kMemoryTagCount = 8;
/// Return "window slots", "scratch", …
std::string_view to_string(MemoryTag tag);

class MemoryReservation;

/// Holds memory that it could do without: a cache, a loader that is not iterated.
class Reclaimable {
 public:
  virtual ~Reclaimable() = default;
  /// Return what reclaim() could give back now.
  [[nodiscard]] virtual std::uint64_t reclaimable_bytes() const = 0;
  /// Give back `bytes`, or everything if that is less. \return What was given back. Must not reserve.
  virtual std::uint64_t reclaim(std::uint64_t bytes) = 0;
};

/// The order in which holders give memory back.
enum class ReclaimRank : std::uint8_t {
  kIdle,     ///< Windows of loaders that are not iterated: nothing of them is needed.
  kCache,    ///< Decoded blocks, one by one: they may be decoded again, later.
  kKept,     ///< Rows that such loaders keep whole.
  kRunning,  ///< Windows of loaders that are: what is in them is decoded again.
  kPaused,   ///< All that such loaders have: they begin anew where they are, once they are asked for a batch.
};
struct ReclaimRanks {
  ReclaimRank first = ReclaimRank::kIdle, last = ReclaimRank::kPaused;
};

/// Threads: every member may be called from any thread. Blocks: never, but for reclaim(), as holders do. Safe over
/// fork(): a child begins with nothing held, since it can use nothing of what its parent's loaders hold, and giving
/// that back changes nothing there.
class MemoryBudget : public std::enable_shared_from_this<MemoryBudget> {
 public:
  /// Create a root budget: what it grants needs no other budget's grant.
  static std::shared_ptr<MemoryBudget> create(std::string name, std::uint64_t limit_bytes);
  /// Return the process's budget; by default default_process_memory_bytes(), measured at the first use.
  static std::shared_ptr<MemoryBudget> process();
  ~MemoryBudget();
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  /// Make a cap inside this budget. It may be larger than what is free here: then this budget refuses first.
  std::shared_ptr<MemoryBudget> child(std::string name, std::uint64_t limit_bytes);

  /// Errors: kOutOfBudget  with what was asked for, the limit, what is free and what holds the rest.
  Result<MemoryReservation> try_reserve(MemoryTag tag, std::uint64_t bytes);

  /// Grant up to `limit_bytes`. What is held beyond it stays held; new requests fail until it is given
  /// back.
  void set_limit(std::uint64_t limit_bytes);
  [[nodiscard]] std::uint64_t limit_bytes() const;
  /// Return what could be reserved now, here and in every budget above.
  [[nodiscard]] std::uint64_t free_bytes() const;

  /// Add a holder to ask when this budget, or one below it, runs short: of lower `rank` first.
  void add_reclaimable(std::weak_ptr<Reclaimable> holder, ReclaimRank rank);
  /// Ask them for `bytes`, until they have given so much: by rank, of one rank those that could give most first.
  /// \return What they gave back. Not under any lock of theirs.
  std::uint64_t reclaim(std::uint64_t bytes, ReclaimRanks ranks = {});
  struct Reclaimables {
    std::uint64_t bytes = 0, holders = 0;  ///< What could be given back, and how many have something to give.
  };
  [[nodiscard]] Reclaimables reclaimable(ReclaimRanks ranks = {}) const;

  /// A budget that memory of this one is reserved through.
  struct Child {
    std::string name;
    std::uint64_t used_bytes = 0;
  };
  /// Return those that hold anything, the largest first.
  [[nodiscard]] std::vector<Child> parts() const;

  struct Snapshot {
    std::uint64_t limit_bytes = 0, used_bytes = 0;
    std::uint64_t peak_bytes = 0;  ///< Most that was ever held at once.
    std::array<std::uint64_t, kMemoryTagCount> used_by_tag{}, peak_by_tag{};
  };
  [[nodiscard]] Snapshot snapshot() const;
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  friend class MemoryReservation;
  MemoryBudget(std::string name, std::uint64_t limit_bytes, std::shared_ptr<MemoryBudget> parent);
  Status grow(MemoryTag tag, std::uint64_t bytes);
  void shrink(MemoryTag tag, std::uint64_t bytes);
  Snapshot& state() const;

  const std::string name_;
  const std::shared_ptr<MemoryBudget> parent_;
  struct Holder {
    std::weak_ptr<Reclaimable> holder;
    ReclaimRank rank;
  };
  [[nodiscard]] std::vector<std::shared_ptr<Reclaimable>> holders(ReclaimRanks ranks) const;
  std::vector<Holder> holders_;  // by rank, under the same lock
  std::vector<std::weak_ptr<const MemoryBudget>> children_;
  // Under one lock for all budgets: reservations are per buffer, not per row.
  mutable Snapshot state_;
  mutable int pid_;  // of the process whose state it is
};

/// Bytes held of a budget until it is destroyed or released. Move-only. Threads: one at a time.
class [[nodiscard]] MemoryReservation {
 public:
  MemoryReservation() = default;
  MemoryReservation(MemoryReservation&& other) noexcept
      : budget_(std::move(other.budget_)), tag_(other.tag_), pid_(other.pid_), bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryReservation& operator=(MemoryReservation&& other) noexcept {
    if (this != &other) {
      release();
      budget_ = std::move(other.budget_);
      tag_ = other.tag_;
      pid_ = other.pid_;
      bytes_ = std::exchange(other.bytes_, 0);
    }
    return *this;
  }
  ~MemoryReservation() { release(); }

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  /// Hold `bytes` instead. On kOutOfBudget nothing changes; less is always granted.
  Status resize(std::uint64_t bytes);
  /// Give everything back.
  void release();

 private:
  friend class MemoryBudget;
  MemoryReservation(std::shared_ptr<MemoryBudget> budget, MemoryTag tag, std::uint64_t bytes);
  void forget_parents();
  std::shared_ptr<MemoryBudget> budget_;
  MemoryTag tag_ = MemoryTag::kOther;
  int pid_ = 0;  // of the process that reserved
  std::uint64_t bytes_ = 0;
};

/// Set the process's budget; caches and idle loaders give back what is held beyond it. Where less is really available
/// the limit is that, until there is more. kInvalidArgument for 0.
Status set_process_memory(std::uint64_t bytes);
/// Return what it was set to, or is by default: the limit may be lower while the machine is short of memory.
std::uint64_t process_memory_wanted();
/// Return 60 % of the memory that a process may have: what its budget is by default.
std::uint64_t process_share_bytes(std::uint64_t available_bytes);
/// Return the same of what detect_available_memory() finds, divided by the processes that a launcher started on this
/// host.
std::uint64_t default_process_memory_bytes();

}  // namespace headrace
