// SideChunks: the decoded chunks used last, of arrays whose chunks reach past the block (ArrayRole::kStraddling).
//
// A chunk of 8192 rows serves 64 blocks of 128: in file order one decode does for all, in a shuffled order as many as
// stay here. Each chunk is decoded by one thread; others that want it wait for that one, which needs nothing from them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>

#include "base/memory/page_buffer.h"
#include "base/result.h"
#include "catalog/block.h"

namespace headrace {

/// A decoded piece in memory of its own.
struct DecodedPart {
  RowRange rows;
  PageBuffer data;
  std::size_t row_stride_bytes = 0;
};

/// Threads: any. Blocks: while another thread decodes the same chunk.
class SideChunks {
 public:
  struct Key {
    std::uint32_t file, array;
    std::uint64_t piece;
    auto operator<=>(const Key&) const = default;
  };
  /// \param capacity_bytes  Of chunks kept; those in use beside them are not counted. 0: nothing is kept.
  explicit SideChunks(std::uint64_t capacity_bytes) : capacity_bytes_(capacity_bytes) {}
  [[nodiscard]] bool enabled() const { return capacity_bytes_ > 0; }

  /// Return the chunk, decoded by `decode` unless it is here. Errors: of `decode`, also of what it throws; the next
  /// caller tries again.
  Result<std::shared_ptr<const DecodedPart>> get(const Key& key, const std::function<Result<DecodedPart>()>& decode);
  /// Forget every chunk that no thread uses.
  void clear();
  /// Return the most bytes of chunks that were kept at once, as a budget counts them.
  [[nodiscard]] std::uint64_t peak_bytes() const {
    const std::lock_guard lock(mutex_);
    return peak_bytes_;
  }

 private:
  struct Entry {
    std::shared_ptr<const DecodedPart> part;  // null while a thread decodes it
    std::list<Key>::iterator place;
  };
  void evict();

  const std::uint64_t capacity_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable decoded_;
  std::map<Key, Entry> entries_;
  std::list<Key> recent_;  // of the decoded ones, the last used first
  std::uint64_t kept_bytes_ = 0, peak_bytes_ = 0;
};

}  // namespace headrace
