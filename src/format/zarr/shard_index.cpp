#include "format/zarr/shard_index.h"

#include <fmt/format.h>

#include <mutex>

#include "base/checksum/crc32c.h"
#include "codec/coded_bytes.h"

namespace headrace::zarr {
namespace {

constexpr std::uint64_t kNever = ~std::uint64_t{0};

std::uint64_t memory_bytes(const Shard& shard, const std::string& path) {
  return shard.index.num_chunks() * sizeof(ByteRange) + 2 * path.size() + 256;
}

}  // namespace

Result<ShardIndex> ShardIndex::parse(std::span<const std::byte> stored, const ShardForm& form,
                                     std::uint64_t file_bytes) {
  if (form.index_has_crc) {
    const std::span<const std::byte> entries = stored.first(stored.size() - kCrcBytes);
    const std::uint32_t sum = crc32c(entries), said = load_le32(stored.data() + entries.size());
    if (sum != said)
      return Error(ErrorCode::kCorruptData,
                   fmt::format("the index of the shard has the checksum {:#010x}, its {} bytes "
                               "give {:#010x}",
                               said, entries.size(), sum));
    stored = entries;
  }
  ShardIndex index;
  index.places_.reserve(stored.size() / kEntryBytes);
  for (std::size_t i = 0; i + kEntryBytes <= stored.size(); i += kEntryBytes) {
    const auto load = form.index_is_big_endian ? load_be64 : load_le64;
    const ByteRange place{load(stored.data() + i), load(stored.data() + i + 8)};
    if (place.offset == kNever && place.size == kNever) {
      index.places_.push_back({});
      continue;
    }
    if (place.size == 0 || place.offset > file_bytes || place.size > file_bytes - place.offset)
      return Error(ErrorCode::kCorruptData,
                   fmt::format("the index of the shard has chunk {} at bytes {}+{} of a file of {}", i / kEntryBytes,
                               place.offset, place.size, file_bytes));
    index.places_.push_back(place);
  }
  return index;
}

Result<std::shared_ptr<const Shard>> open_shard(std::shared_ptr<const RandomAccessFile> file, const ShardForm& form,
                                                std::uint64_t chunks) {
  const std::uint64_t bytes = ShardIndex::stored_bytes(form, chunks), size = file->size();
  if (bytes > size)
    return Error(ErrorCode::kCorruptData, fmt::format("a shard of {} bytes, its index alone has {}", size, bytes));
  std::vector<std::byte> stored(static_cast<std::size_t>(bytes));
  HEADRACE_TRY(file->read_at(form.index_at_start ? 0 : size - bytes, stored));
  HEADRACE_ASSIGN(ShardIndex index, ShardIndex::parse(stored, form, size));
  return std::shared_ptr<const Shard>(std::make_shared<Shard>(Shard{std::move(file), std::move(index)}));
}

std::shared_ptr<const Shard> ShardCache::find(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  const auto found = shards_.find(path);
  return found == shards_.end() ? nullptr : found->second;
}

void ShardCache::add(const std::string& path, std::shared_ptr<const Shard> shard) {
  const std::uint64_t bytes = memory_bytes(*shard, path);
  const std::lock_guard lock(mutex_);
  if (!shards_.emplace(path, std::move(shard)).second) return;  // another thread was here first
  order_.push_back(path);
  bytes_ += bytes;
  while (bytes_ > kMostBytes && order_.size() > 1) {
    const auto old = shards_.find(order_.front());
    bytes_ -= memory_bytes(*old->second, old->first);
    shards_.erase(old);
    order_.pop_front();
  }
}

}  // namespace headrace::zarr
