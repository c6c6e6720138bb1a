// DictionaryCache: dictionaries of column chunks, kept while memory allows, since every page of a chunk needs its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>

#include "base/memory/memory_budget.h"
#include "base/threads/fork_safe_mutex.h"
#include "format/parquet/pages/page_values.h"

namespace headrace::parquet {

/// Dictionaries by (array, row group), those used last. What is lost is read again.
/// Threads: all members from any thread. Memory: each dictionary holds its own part of the process's budget; those that
/// no page is decoded with are given back when it runs short.
class DictionaryCache final : public Reclaimable {
 public:
  /// Return the one of the process.
  static DictionaryCache& process();

  /// Return a dictionary that was kept; null: it is not there.
  std::shared_ptr<const Dictionary> find(const void* array, std::size_t row_group);
  /// Keep a dictionary, the last one whatever its size. \return What is kept: that of a thread that was first.
  std::shared_ptr<const Dictionary> keep(const void* array, std::size_t row_group,
                                         std::shared_ptr<const Dictionary> dictionary);
  /// Forget all of an array that is closed.
  void forget(const void* array);

  [[nodiscard]] std::uint64_t reclaimable_bytes() const override;
  std::uint64_t reclaim(std::uint64_t bytes) override;

 private:
  struct Entry {
    const void* array;
    std::size_t row_group;
    std::shared_ptr<const Dictionary> dictionary;
    [[nodiscard]] bool is_idle() const { return dictionary.use_count() == 1; }
  };
  void drop(std::list<Entry>::iterator entry, std::list<Entry>& dropped);
  mutable ForkSafeMutex mutex_;
  std::list<Entry> entries_;  // the one used last first
  std::uint64_t bytes_ = 0;
};

}  // namespace headrace::parquet
