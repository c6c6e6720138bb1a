#include "cache/directory/whole_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <atomic>
#include <cstring>

#include "base/checksum/crc32c.h"
#include "cache/mapped_rows.h"
#include "cache/row_layout.h"
#include "format/npy/npy_header.h"

namespace headrace {
namespace {

Error damaged(const std::string& path, std::string what) {
  return Error(ErrorCode::kCorruptData, std::move(what)).with_file(path).with_stage("cache");
}

/// A file of exactly the size that its header and the manifest say, with that header.
Result<Descriptor> open_npy(const Folder& folder, const CachedFile& file, const std::string& header,
                            std::uint64_t data_bytes) {
  const std::string path = folder.path_of(file.name);
  const std::uint64_t expected = header.size() + data_bytes;
  if (file.size_bytes != expected)
    return damaged(path, fmt::format("the manifest says {} bytes, its shape needs {}", file.size_bytes, expected));
  HEADRACE_ASSIGN(Descriptor descriptor, folder.open_file(file.name, O_RDONLY));
  struct stat status {};
  ::fstat(descriptor.get(), &status);
  if (static_cast<std::uint64_t>(status.st_size) != expected)
    return damaged(path, fmt::format("it has {} bytes, {} are expected", status.st_size, expected));
  std::string found(header.size(), '\0');
  HEADRACE_TRY(read_all(descriptor.get(), path, std::as_writable_bytes(std::span(found)), 0));
  if (found != header)
    return damaged(path, "its header is not that of the array in the manifest").with_bytes({0, header.size()});
  return descriptor;
}

/// The values of a small .npy file, whose checksum is compared.
template <class T>
Result<std::vector<T>> read_npy(const Folder& folder, const CachedFile& file, const DType& dtype,
                                std::span<const std::uint64_t> shape) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  const std::string header = npy_header(dtype, shape);
  HEADRACE_ASSIGN(const Descriptor descriptor, open_npy(folder, file, header, count * sizeof(T)));
  std::vector<T> values(count);
  const auto bytes = std::as_writable_bytes(std::span(values));
  HEADRACE_TRY(read_all(descriptor.get(), folder.path_of(file.name), bytes, header.size()));
  const std::uint32_t crc = crc32c(bytes, crc32c(std::as_bytes(std::span(header))));
  if (crc != file.crc32c)
    return damaged(folder.path_of(file.name),
                   fmt::format("its checksum is {:08x}, the manifest says {:08x}", crc, file.crc32c));
  return values;
}

class MappedCache final : public RowStore {
 public:
  MappedCache(WholeCache cache, MappedRows rows)
      : cache_(std::move(cache)),
        layout_(cache_.manifest.layout),
        rows_(std::move(rows)),
        seen_(layout_.num_blocks()) {}

  [[nodiscard]] const RowLayout& layout() const override { return layout_; }
  [[nodiscard]] const std::byte* field(std::size_t field) const override { return rows_.field(field); }
  [[nodiscard]] bool random_access() const override { return rows_.random_access(); }
  void will_need(std::uint64_t block, RowRange rows) const override { rows_.will_need(layout_, block, rows); }
  Lookup look_up(std::uint64_t block) override { return ready(block) ? Lookup::kReady : Lookup::kFull; }
  [[nodiscard]] bool ready(std::uint64_t block) const override {
    return seen_[block].load(std::memory_order_relaxed) != kBad;
  }
  [[nodiscard]] bool can_fill(std::uint64_t) const override { return false; }
  bool wait(std::uint64_t block, std::chrono::nanoseconds) override { return ready(block); }
  [[nodiscard]] std::byte* writable(std::size_t, std::uint64_t) override { return nullptr; }
  Status put(std::uint64_t, std::span<const std::byte* const>) override {
    return Error(ErrorCode::kInternal, "a whole cache is not written").with_file(cache_.folder.path());
  }
  bool publish(std::uint64_t) override { return false; }
  void abandon(std::uint64_t) override {}
  [[nodiscard]] bool complete() const override { return num_bad_.load(std::memory_order_acquire) == 0; }
  [[nodiscard]] std::uint64_t ready_blocks() const override {
    return layout_.num_blocks() - num_bad_.load(std::memory_order_acquire);
  }

  Status check(std::uint64_t block) override {
    if (seen_[block].load(std::memory_order_acquire) != kUnseen) return {};  // good, or told of
    for (std::size_t field = 0; field < layout_.fields.size(); ++field) {
      Status status = cache_.check(field, block);
      if (status.ok()) continue;
      if (seen_[block].exchange(kBad, std::memory_order_acq_rel) != kBad) ++num_bad_;
      return status;
    }
    std::uint8_t unseen = kUnseen;
    if (seen_[block].compare_exchange_strong(unseen, kGood, std::memory_order_acq_rel)) ++num_good_;
    return {};
  }
  [[nodiscard]] bool all_checked() const override { return num_good_ + num_bad_ == layout_.num_blocks(); }
  [[nodiscard]] std::uint64_t charged_bytes() const override { return 0; }

 private:
  static constexpr std::uint8_t kUnseen = 0, kGood = 1, kBad = 2;
  const WholeCache cache_;
  const RowLayout& layout_;
  const MappedRows rows_;
  std::vector<std::atomic<std::uint8_t>> seen_;
  std::atomic<std::uint64_t> num_good_{0}, num_bad_{0};
};

}  // namespace

bool is_trusted(const Folder& directory, const Folder& folder) {
  const uid_t owner = folder.status().st_uid;
  return owner == ::geteuid() || owner == 0 || owner == directory.status().st_uid;
}

Result<WholeCache> WholeCache::open(const Folder& directory, const std::string& name) {
  WholeCache cache;
  HEADRACE_ASSIGN(cache.folder, directory.open_child(name));
  const Folder& folder = cache.folder;
  if (!is_trusted(directory, folder))
    return Error(ErrorCode::kPermission, fmt::format("it belongs to user {}", folder.status().st_uid))
        .with_file(folder.path())
        .with_stage("cache");
  HEADRACE_ASSIGN(const std::string text, folder.read_file(CacheManifest::kFileName, CacheManifest::kMostBytes));
  Result<CacheManifest> parsed = CacheManifest::parse(text);
  if (!parsed.ok()) {
    const Error& error = parsed.error();
    return Error(error.code(), error.message()).with_file(folder.path_of(CacheManifest::kFileName)).with_stage("cache");
  }
  cache.manifest = std::move(*parsed);
  CacheManifest& manifest = cache.manifest;
  RowLayout& layout = manifest.layout;
  const std::uint64_t num_fields = layout.fields.size(), num_blocks = manifest.num_blocks;

  const std::uint64_t table_shape[] = {num_fields, num_blocks};
  HEADRACE_ASSIGN(cache.table,
                  read_npy<std::uint32_t>(folder, manifest.checksums, {DType::Kind::kUInt, 4}, table_shape));
  if (manifest.blocks) {
    const std::uint64_t shape[] = {num_blocks + 1};
    HEADRACE_ASSIGN(layout.block_starts,
                    read_npy<std::uint64_t>(folder, *manifest.blocks, {DType::Kind::kUInt, 8}, shape));
    if (layout.rows() != manifest.rows)
      return damaged(folder.path_of(manifest.blocks->name), "its rows are not those of the manifest");
    HEADRACE_TRY(check_row_layout(layout));
  }
  for (std::size_t i = 0; i < num_fields; ++i) {
    const std::string header = npy_header(layout.fields[i], manifest.rows);
    HEADRACE_ASSIGN(Descriptor file,
                    open_npy(folder, manifest.data[i], header, manifest.rows * layout.fields[i].row_bytes()));
    cache.data.push_back(std::move(file));
    std::uint32_t crc = crc32c(std::as_bytes(std::span(header)));
    for (std::uint64_t block = 0; block < num_blocks; ++block)
      crc = crc32c_combine(crc, cache.table[i * num_blocks + block], block_bytes(layout, i, block).size);
    if (crc != manifest.data[i].crc32c)
      return damaged(folder.path_of(manifest.checksums.name), "its checksums do not make those in the manifest");
  }
  return cache;
}

std::uint64_t WholeCache::size_bytes() const {
  std::uint64_t bytes = manifest.checksums.size_bytes + (manifest.blocks ? manifest.blocks->size_bytes : 0);
  for (const CachedFile& file : manifest.data) bytes += file.size_bytes;
  return bytes;
}

Status WholeCache::check(std::size_t field, std::uint64_t block) const {
  const RowLayout& layout = manifest.layout;
  ByteRange range = block_bytes(layout, field, block);
  range.offset += npy_header(layout.fields[field], manifest.rows).size();
  const std::string path = folder.path_of(manifest.data[field].name);
  Result<std::uint32_t> crc = crc32c_of_file(data[field].get(), path, range.offset, range.size);
  const std::uint32_t expected = table[field * layout.num_blocks() + block];
  if (crc.ok() && *crc == expected) return {};
  Error error = crc.ok() ? damaged(path, fmt::format("block {} ({}) is damaged: its checksum is {:08x}, not {:08x}",
                                                     block, rows_text(layout, block), *crc, expected))
                         : crc.error();
  const std::size_t name = folder.path().rfind('/');
  return error.with_field(layout.fields[field].name)
      .with_chunk(fmt::format("({})", block))
      .with_bytes(range)
      .with_hint(fmt::format("Remove the cache, and it is made again: headrace cache rm {} {}.",
                             folder.path().substr(0, name), folder.path().substr(name + 1)));
}

Result<std::shared_ptr<RowStore>> map_whole_cache(WholeCache cache) {
  const RowLayout& layout = cache.manifest.layout;
  MappedRows rows(layout);
  for (std::size_t i = 0; i < cache.data.size(); ++i) {
    const Status mapped = rows.add(cache.data[i].get(), npy_header(layout.fields[i], layout.rows()).size(), layout);
    if (!mapped.ok()) return Error(mapped.error()).with_file(cache.folder.path_of(cache.manifest.data[i].name));
  }
  return std::shared_ptr<RowStore>(std::make_shared<MappedCache>(std::move(cache), std::move(rows)));
}

}  // namespace headrace
