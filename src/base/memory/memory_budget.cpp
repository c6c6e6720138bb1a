#include "base/memory/memory_budget.h"

#include <headrace/bytes.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>

#include "base/machine/available_memory.h"
#include "base/machine/local_processes.h"
#include "base/machine/memory_limits.h"
#include "base/memory/memory_watch.h"
#include "base/threads/fork_safe_mutex.h"
#include "base/threads/made_once.h"

namespace headrace {
namespace {

ForkSafeMutex& lock() {
  static ForkSafeMutex& mutex = *new ForkSafeMutex;  // outlives every reservation
  return mutex;
}

std::string who_holds(const MemoryBudget::Snapshot& state) {
  std::string text;
  for (std::size_t tag = 0; tag < kMemoryTagCount; ++tag)
    if (state.used_by_tag[tag] != 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", to_string(static_cast<MemoryTag>(tag)),
                          format_bytes(state.used_by_tag[tag]));
  return text.empty() ? "nothing is in use" : "in use: " + text;
}

/// 0: never set.
std::atomic<std::uint64_t>& wanted_bytes() {
  static std::atomic<std::uint64_t> bytes{0};
  return bytes;
}

std::uint64_t free_of(const MemoryBudget::Snapshot& state) {
  return state.limit_bytes - std::min(state.used_bytes, state.limit_bytes);
}

}  // namespace

std::string_view to_string(MemoryTag tag) {
  switch (tag) {
    case MemoryTag::kWindowSlots:
      return "window slots";
    case MemoryTag::kScratch:
      return "scratch";
    case MemoryTag::kReadBuffers:
      return "read buffers";
    case MemoryTag::kResidentFields:
      return "resident fields";
    case MemoryTag::kIndex:
      return "index";
    case MemoryTag::kBlockCache:
      return "block cache";
    case MemoryTag::kStaging:
      return "staging";
    case MemoryTag::kOther:
      return "other";
  }
  return "other";
}

MemoryBudget::MemoryBudget(std::string name, std::uint64_t limit_bytes, std::shared_ptr<MemoryBudget> parent)
    : name_(std::move(name)), parent_(std::move(parent)), pid_(::getpid()) {
  state_.limit_bytes = limit_bytes;
}

MemoryBudget::~MemoryBudget() = default;

/// Under the lock. In a child of fork() what the parent held is forgotten at the first look.
MemoryBudget::Snapshot& MemoryBudget::state() const {
  if (const int pid = ::getpid(); pid != pid_) {
    pid_ = pid;
    state_ = {.limit_bytes = state_.limit_bytes};
  }
  return state_;
}

std::shared_ptr<MemoryBudget> MemoryBudget::create(std::string name, std::uint64_t limit_bytes) {
  return std::shared_ptr<MemoryBudget>(new MemoryBudget(std::move(name), limit_bytes, nullptr));
}

std::shared_ptr<MemoryBudget> MemoryBudget::child(std::string name, std::uint64_t limit_bytes) {
  std::shared_ptr<MemoryBudget> made(new MemoryBudget(std::move(name), limit_bytes, shared_from_this()));
  const std::lock_guard guard(lock());
  std::erase_if(children_, [](const auto& child) { return child.expired(); });
  children_.push_back(made);
  return made;
}

std::shared_ptr<MemoryBudget> MemoryBudget::process() {
  static MadeOnce<std::shared_ptr<MemoryBudget>> budget;
  return budget.get([] {
    const std::uint64_t bytes = default_process_memory_bytes();
    wanted_bytes() = bytes;
    return create("process", bytes);
  });
}

Result<MemoryReservation> MemoryBudget::try_reserve(MemoryTag tag, std::uint64_t bytes) {
  HEADRACE_TRY(grow(tag, bytes));
  return MemoryReservation(shared_from_this(), tag, bytes);
}

Status MemoryBudget::grow(MemoryTag tag, std::uint64_t bytes) {
  const std::lock_guard guard(lock());
  for (const MemoryBudget* b = this; b != nullptr; b = b->parent_.get()) {
    if (bytes <= free_of(b->state())) continue;
    return Error(ErrorCode::kOutOfBudget,
                 fmt::format("{} for {} do not fit the memory budget of the {}: {} of {} are free; {}",
                             format_bytes(bytes), to_string(tag), b->name_, format_bytes(free_of(b->state())),
                             format_bytes(b->state().limit_bytes), who_holds(b->state())));
  }
  const auto t = static_cast<std::size_t>(tag);
  for (MemoryBudget* b = this; b != nullptr; b = b->parent_.get()) {
    Snapshot& s = b->state();
    s.peak_bytes = std::max(s.peak_bytes, s.used_bytes += bytes);
    s.peak_by_tag[t] = std::max(s.peak_by_tag[t], s.used_by_tag[t] += bytes);
  }
  return {};
}

void MemoryBudget::shrink(MemoryTag tag, std::uint64_t bytes) {
  const std::lock_guard guard(lock());
  for (MemoryBudget* b = this; b != nullptr; b = b->parent_.get()) {
    b->state().used_bytes -= bytes;
    b->state().used_by_tag[static_cast<std::size_t>(tag)] -= bytes;
  }
}

void MemoryBudget::set_limit(std::uint64_t limit_bytes) {
  const std::lock_guard guard(lock());
  state().limit_bytes = limit_bytes;
}

std::uint64_t MemoryBudget::limit_bytes() const {
  const std::lock_guard guard(lock());
  return state().limit_bytes;
}

std::uint64_t MemoryBudget::free_bytes() const {
  const std::lock_guard guard(lock());
  std::uint64_t free = free_of(state());
  for (const MemoryBudget* b = parent_.get(); b != nullptr; b = b->parent_.get())
    free = std::min(free, free_of(b->state()));
  return free;
}

void MemoryBudget::add_reclaimable(std::weak_ptr<Reclaimable> holder, ReclaimRank rank) {
  const std::lock_guard guard(lock());
  std::erase_if(holders_, [](const Holder& h) { return h.holder.expired(); });
  const auto after = std::find_if(holders_.begin(), holders_.end(), [&](const Holder& h) { return h.rank > rank; });
  holders_.insert(after, {std::move(holder), rank});
}

std::vector<std::shared_ptr<Reclaimable>> MemoryBudget::holders(ReclaimRanks ranks) const {
  const std::lock_guard guard(lock());
  std::vector<std::shared_ptr<Reclaimable>> alive;
  for (const Holder& h : holders_)
    if (auto holder = h.rank >= ranks.first && h.rank <= ranks.last ? h.holder.lock() : nullptr)
      alive.push_back(std::move(holder));
  return alive;
}

std::uint64_t MemoryBudget::reclaim(std::uint64_t bytes, ReclaimRanks ranks) {
  std::uint64_t given = 0;
  for (int rank = static_cast<int>(ranks.first); rank <= static_cast<int>(ranks.last) && given < bytes; ++rank) {
    const auto of_rank = static_cast<ReclaimRank>(rank);
    std::vector<std::pair<std::uint64_t, std::shared_ptr<Reclaimable>>> all;
    for (auto& holder : holders({of_rank, of_rank}))  // without the lock: they give their reservations back
      if (const std::uint64_t has = holder->reclaimable_bytes(); has > 0) all.emplace_back(has, std::move(holder));
    std::ranges::stable_sort(all, std::greater<>(), [](const auto& a) { return a.first; });
    for (const auto& [has, holder] : all)
      if (given < bytes) given += holder->reclaim(bytes - given);
  }
  return given;
}

MemoryBudget::Reclaimables MemoryBudget::reclaimable(ReclaimRanks ranks) const {
  Reclaimables all;
  for (const auto& holder : holders(ranks)) {
    const std::uint64_t bytes = holder->reclaimable_bytes();
    all.bytes += bytes;
    all.holders += bytes > 0;
  }
  return all;
}

std::vector<MemoryBudget::Child> MemoryBudget::parts() const {
  std::vector<Child> all;
  std::vector<std::shared_ptr<const MemoryBudget>> alive;  // the last of one is not to end under the lock
  {
    const std::lock_guard guard(lock());
    for (const auto& child : children_)
      if (auto part = child.lock()) alive.push_back(std::move(part));
  }
  for (const auto& part : alive)
    if (const std::uint64_t used = part->snapshot().used_bytes; used > 0) all.push_back({part->name(), used});
  std::ranges::stable_sort(all, std::greater<>(), &Child::used_bytes);
  return all;
}

MemoryBudget::Snapshot MemoryBudget::snapshot() const {
  const std::lock_guard guard(lock());
  return state();
}

MemoryReservation::MemoryReservation(std::shared_ptr<MemoryBudget> budget, MemoryTag tag, std::uint64_t bytes)
    : budget_(std::move(budget)), tag_(tag), pid_(::getpid()), bytes_(bytes) {}

/// What was reserved before a fork() is the parent's: the child does not count it.
void MemoryReservation::forget_parents() {
  if (const int pid = ::getpid(); pid != pid_) bytes_ = 0, pid_ = pid;
}

Status MemoryReservation::resize(std::uint64_t bytes) {
  if (!budget_)
    return bytes == 0 ? Status() : Error(ErrorCode::kInternal, "a reservation without a budget cannot grow");
  forget_parents();
  if (bytes > bytes_) HEADRACE_TRY(budget_->grow(tag_, bytes - bytes_));
  if (bytes < bytes_) budget_->shrink(tag_, bytes_ - bytes);
  bytes_ = bytes;
  return {};
}

void MemoryReservation::release() {
  forget_parents();
  if (bytes_ != 0) budget_->shrink(tag_, std::exchange(bytes_, 0));
  budget_.reset();
}

Status set_process_memory(std::uint64_t bytes) {
  if (bytes == 0)
    return Error(ErrorCode::kInvalidArgument, "the memory budget must be more than 0 bytes")
        .with_hint("Give for example 8GiB.");
  const std::shared_ptr<MemoryBudget> process = MemoryBudget::process();
  wanted_bytes() = bytes;
  const std::uint64_t used = process->snapshot().used_bytes, own = std::min(used, resident_bytes());
  const std::uint64_t limit = MemoryWatch::next_budget(bytes, detect_available_memory().bytes + own, bytes);
  process->set_limit(limit);
  if (used > limit) process->reclaim(used - limit);
  return {};
}

std::uint64_t process_memory_wanted() {
  const std::uint64_t limit = MemoryBudget::process()->limit_bytes();
  const std::uint64_t wanted = wanted_bytes();
  return wanted ? wanted : limit;
}

std::uint64_t process_share_bytes(std::uint64_t available_bytes) {
  return available_bytes / 5 * 3;
}

std::uint64_t default_process_memory_bytes() {
  return process_share_bytes(detect_available_memory().bytes / count_local_processes().count);
}

}  // namespace headrace
