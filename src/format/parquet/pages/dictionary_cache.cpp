#include "format/parquet/pages/dictionary_cache.h"

#include <algorithm>
#include <mutex>

#include "base/threads/made_once.h"

namespace headrace::parquet {
namespace {

// A part of the process's budget, and more in small ones: a chunk's pages are decoded tens of times slower without it.
constexpr std::uint64_t kShareOfBudget = 4, kSmallBytes = 64 << 20;

std::uint64_t most_kept_bytes() {
  return std::max(MemoryBudget::process()->limit_bytes() / kShareOfBudget, kSmallBytes);
}

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

std::shared_ptr<const Dictionary> DictionaryCache::keep(const void* array, std::size_t row_group,
                                                        std::shared_ptr<const Dictionary> dictionary) {
  const std::uint64_t most = most_kept_bytes();
  std::list<Entry> dropped;  // freed after the lock
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_)  // two threads that missed it together
    if (entry.array == array && entry.row_group == row_group) return entry.dictionary;
  bytes_ += dictionary->charged_bytes();
  entries_.push_front({array, row_group, dictionary});
  while (bytes_ > most && entries_.size() > 1) drop(std::prev(entries_.end()), dropped);
  return dictionary;
}

void DictionaryCache::forget(const void* array) {
  std::list<Entry> dropped;
  const std::lock_guard lock(mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (entry->array == array) drop(entry, dropped);
    entry = next;
  }
}

void DictionaryCache::drop(std::list<Entry>::iterator entry, std::list<Entry>& dropped) {
  bytes_ -= entry->dictionary->charged_bytes();
  dropped.splice(dropped.begin(), entries_, entry);
}

std::uint64_t DictionaryCache::reclaimable_bytes() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t bytes = 0;
  for (const Entry& entry : entries_)
    if (entry.is_idle()) bytes += entry.dictionary->charged_bytes();
  return bytes;
}

std::uint64_t DictionaryCache::reclaim(std::uint64_t bytes) {
  std::list<Entry> dropped;
  std::uint64_t given = 0;
  const std::lock_guard lock(mutex_);
  for (auto entry = entries_.end(); given < bytes && entry != entries_.begin();) {
    --entry;
    if (!entry->is_idle()) continue;
    given += entry->dictionary->charged_bytes();
    const auto next = std::next(entry);
    drop(entry, dropped);
    entry = next;
  }
  return given;
}

}  // namespace headrace::parquet
