#include "format/parquet/dictionary_cache.h"

#include <mutex>

#include "base/made_once.h"

namespace headrace::parquet {
namespace {

constexpr std::uint64_t kMostKeptBytes = 64 << 20;

}  // namespace

DictionaryCache& DictionaryCache::process() {
  static MadeOnce<std::shared_ptr<DictionaryCache>> cache;
  return *cache.get([] {
    auto made = std::make_shared<DictionaryCache>();
    MemoryBudget::process()->add_reclaimable(made, ReclaimRank::kCache);
    return made;
  });
}

std::shared_ptr<const Dictionary> DictionaryCache::find(const void* array, std::size_t row_group) {
  const std::lock_guard lock(mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry)
    if (entry->array == array && entry->row_group == row_group) {
      entries_.splice(entries_.begin(), entries_, entry);
      return entry->dictionary;
    }
  return nullptr;
}

void DictionaryCache::keep(const void* array, std::size_t row_group,
                           const std::shared_ptr<const Dictionary>& dictionary) {
  const std::uint64_t bytes = dictionary->elements.size() + sizeof(Entry);
  if (bytes > kMostKeptBytes / 2) return;
  auto reservation = MemoryBudget::process()->try_reserve(MemoryTag::kScratch, bytes);
  if (!reservation.ok()) return;  // then it is read again
  std::list<Entry> dropped;       // freed after the lock
  const std::lock_guard lock(mutex_);
  entries_.push_front({array, row_group, dictionary, std::move(*reservation)});
  bytes_ += bytes;
  while (bytes_ > kMostKeptBytes) {
    bytes_ -= entries_.back().reservation.bytes();
    dropped.splice(dropped.begin(), entries_, std::prev(entries_.end()));
  }
}

void DictionaryCache::forget(const void* array) {
  std::list<Entry> dropped;
  const std::lock_guard lock(mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (entry->array == array) {
      bytes_ -= entry->reservation.bytes();
      dropped.splice(dropped.begin(), entries_, entry);
    }
    entry = next;
  }
}

std::uint64_t DictionaryCache::reclaimable_bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

std::uint64_t DictionaryCache::reclaim(std::uint64_t bytes) {
  std::list<Entry> dropped;
  std::uint64_t given = 0;
  const std::lock_guard lock(mutex_);
  while (given < bytes && !entries_.empty()) {
    given += entries_.back().reservation.bytes();
    bytes_ -= entries_.back().reservation.bytes();
    dropped.splice(dropped.begin(), entries_, std::prev(entries_.end()));
  }
  return given;
}

}  // namespace headrace::parquet
