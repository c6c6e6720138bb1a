// ShardIndex: where the chunks of a shard lie in its file. Source: the sharding codec of Zarr v3, "binary shard
// format".
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/threads/fork_safe_mutex.h"
#include "format/zarr/array_metadata.h"
#include "storage/random_access_file.h"

namespace headrace::zarr {

/// Immutable. Threads: any.
class ShardIndex {
 public:
  static constexpr std::uint64_t kEntryBytes = 16, kCrcBytes = 4;
  /// Return the bytes of an index of `chunks`.
  static std::uint64_t stored_bytes(const ShardForm& form, std::uint64_t chunks) {
    return chunks * kEntryBytes + (form.index_has_crc ? kCrcBytes : 0);
  }
  /// Read an index. \param stored  Its bytes. \param file_bytes  Of the whole shard.
  /// Errors: kCorruptData  the checksum is wrong, or a chunk reaches past the end of the file.
  static Result<ShardIndex> parse(std::span<const std::byte> stored, const ShardForm& form, std::uint64_t file_bytes);

  [[nodiscard]] std::uint64_t num_chunks() const { return places_.size(); }
  /// Return where a chunk lies; size 0: it was never written.
  [[nodiscard]] ByteRange at(std::uint64_t chunk) const { return places_[chunk]; }

 private:
  std::vector<ByteRange> places_;
};

/// An open shard.
struct Shard {
  std::shared_ptr<const RandomAccessFile> file;
  ShardIndex index;
};

/// The shards of an array that were used last, so that crowds of crops read each index once. Threads: any.
class ShardCache {
 public:
  /// Return a shard, by the path of its file; null: it is not here.
  [[nodiscard]] std::shared_ptr<const Shard> find(const std::string& path) const;
  /// Keep a shard, and of those that came first as many as fit beside it.
  void add(const std::string& path, std::shared_ptr<const Shard> shard);

 private:
  static constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 20;
  mutable ForkSafeMutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const Shard>> shards_;
  std::deque<std::string> order_;  // in which they came
  std::uint64_t bytes_ = 0;
};

/// Open a shard and read its index. Errors: as ShardIndex::parse(), those of reading; kCorruptData  it is too short.
/// Blocks: until it is read.
Result<std::shared_ptr<const Shard>> open_shard(std::shared_ptr<const RandomAccessFile> file, const ShardForm& form,
                                                std::uint64_t chunks);

}  // namespace headrace::zarr
