// DictionaryCache: dictionaries of column chunks, kept while memory allows, since every page of a chunk needs its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>

#include "base/fork_safe_mutex.h"
#include "base/memory_budget.h"
#include "format/parquet/page_values.h"

namespace headrace::parquet {

/// Dictionaries by (array, row group), those used last. What is lost is read again.
/// Threads: all members from any thread. Memory: charged to the process's budget, and given back when it runs short.
class DictionaryCache final : public Reclaimable {
 public:
  /// The one of the process.
  static DictionaryCache& process();

  /// Return a dictionary that was kept; null: it is not there.
  std::shared_ptr<const Dictionary> find(const void* array, std::size_t row_group);
  void keep(const void* array, std::size_t row_group, const std::shared_ptr<const Dictionary>& dictionary);
  /// Forget all of an array that is closed.
  void forget(const void* array);

  [[nodiscard]] std::uint64_t reclaimable_bytes() const override;
  std::uint64_t reclaim(std::uint64_t bytes) override;

 private:
  struct Entry {
    const void* array;
    std::size_t row_group;
    std::shared_ptr<const Dictionary> dictionary;
    MemoryReservation reservation;
  };
  mutable ForkSafeMutex mutex_;
  std::list<Entry> entries_;  // the one used last first
  std::uint64_t bytes_ = 0;
};

}  // namespace headrace::parquet
