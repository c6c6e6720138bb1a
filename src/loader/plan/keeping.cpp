#include "loader/plan/keeping.h"

#include <fmt/format.h>
#include <headrace/bytes.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/machine/memory_limits.h"
#include "base/random/philox.h"
#include "base/text/number_text.h"
#include "cache/host/host_arena.h"
#include "loader/plan/stored_groups.h"
#include "storage/file_system.h"
#include "storage/storage_kind.h"
#include "storage/version_now.h"

namespace headrace {
namespace {

/// Look at what is in the directories now. A store's own is not compared: its arrays name what they read of it.
void add_directories(std::vector<CacheSource>& sources) {
  std::vector<std::string> paths;
  for (const CacheSource& source : sources) paths.push_back(source.path);
  const auto versions = versions_now(paths);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    FileFingerprint& source = sources[i].fingerprint;
    const bool is_in_memory = source == FileFingerprint{};
    if (!is_in_memory && versions[i] && versions[i]->entries != 0)
      source = source.size_bytes == 0 ? *versions[i] : FileFingerprint{};
  }
}

/// What a cache directory must have been made of.
CacheOrigin origin_of(const Source& source, const std::string& identity) {
  CacheOrigin origin;
  const auto add = [&](const std::string& path, const FileFingerprint& fingerprint, std::uint64_t rows) {
    origin.sources.push_back({path, fingerprint, rows});
    // Files of one name, size and time in two folders are two files: tar and rsync keep times.
    origin.detail += FileSystem::of(path).canonical(path) + " ";
  };
  for (const SourceFile& file : source.files) {
    add(file.path, file.fingerprint, file.rows);
    for (const CompanionFile& companion : file.companion_files) add(companion.path, companion.fingerprint, 0);
    for (const OutsideFile& other : other_files(file)) add(other.path, other.fingerprint, 0);
  }
  origin.detail += identity;  // selections, and which arrays the fields are
  add_directories(origin.sources);
  for (const StoredColumn& field : *source.columns) origin.detail += fmt::format(" {}={}", field.name, field.path);
  return origin;
}

/// Equal for processes that load the same rows of the same files.
std::string host_key(const CacheOrigin& origin) {
  RandomKey key = RandomKey::of({origin.sources.size()});
  const auto add = [&](const std::string& text) {
    for (const char c : text) key = key.with(static_cast<unsigned char>(c));
  };
  add(origin.detail);
  for (const CacheSource& s : origin.sources) {
    add(s.path);
    key = key.with(s.fingerprint.device).with(s.fingerprint.inode).with(s.fingerprint.size_bytes);
    key = key.with(static_cast<std::uint64_t>(s.fingerprint.mtime_ns));
    key = key.with(static_cast<std::uint64_t>(s.fingerprint.ctime_ns)).with(s.fingerprint.entries);
  }
  return fmt::format("{:016x}", key.low);
}

/// Return how much keeping may add to the other work while a consumer waits: HEADRACE_KEEP_SHARE, or the default.
double keep_share() {
  const char* const text = std::getenv("HEADRACE_KEEP_SHARE");
  if (!text) return KeepPolicy::kShare;
  const std::optional<double> share = number_of(text);
  return share && *share >= 0 ? *share : KeepPolicy::kShare;
}

}  // namespace

Result<std::shared_ptr<DecodedCache>> make_decoded_cache(const SampleSource& source, const EnginePlan& plan,
                                                         const CacheChoice& choice, const std::string& identity,
                                                         const CompleteCache& whole,
                                                         const std::shared_ptr<MemoryBudget>& budget,
                                                         const std::shared_ptr<Notices>& notices) {
  auto decoded_cache = std::make_shared<DecodedCache>(keep_share());
  decoded_cache->notices = notices;
  const std::vector<StoredGroup> groups = stored_groups(source, plan.layout, *plan.blocks);
  std::vector<std::shared_ptr<RowStore>> stores;
  switch (plan.tier) {
    case CacheTier::kNothing:
      break;
    case CacheTier::kSomeBlocks: {
      BlockCache::Options options;
      options.form = plan.boxes ? BlockForm::of_bytes() : BlockForm(*groups[0].source.columns);
      options.capacity_bytes = plan.cache_bytes;
      options.coding = plan.coding;
      options.coded_share = plan.coded_share;
      options.epoch_ticks = Sampler::kEpochTicks;
      decoded_cache->blocks = std::make_shared<BlockCache>(budget, std::move(options));
      MemoryBudget::process()->add_reclaimable(decoded_cache->blocks,
                                               plan.preloads ? ReclaimRank::kKept : ReclaimRank::kCache);
      break;
    }
    case CacheTier::kAllRows: {
      HEADRACE_ASSIGN(decoded_cache->reservation, budget->try_reserve(MemoryTag::kBlockCache, plan.cache_bytes));
      for (const StoredGroup& group : groups) {
        HEADRACE_ASSIGN(stores.emplace_back(), RowStore::in_memory(group.rows));
      }
      decoded_cache->is_private = true;
      break;
    }
    case CacheTier::kHostRows: {
      std::uint64_t left = plan.cache_bytes, charged = 0;
      for (std::size_t g = groups.size(); g-- > 0;) {  // the first may take what the others leave
        const std::uint64_t bytes = g == 0 ? left : std::min(left, RowStore::pages_for(groups[g].rows));
        auto store = open_host_arena(host_key(origin_of(groups[g].source, identity)), groups[g].rows, bytes);
        if (!store.ok()) {
          decoded_cache->notice(DecodedCache::text_of(store.error(), "This process caches nothing."));
          return decoded_cache;
        }
        left -= bytes;
        charged += std::min((*store)->charged_bytes(), bytes);
        stores.insert(stores.begin(), std::move(*store));
      }
      HEADRACE_ASSIGN(decoded_cache->reservation, budget->try_reserve(MemoryTag::kBlockCache, charged));
      break;
    }
    case CacheTier::kDirectory: {
      CompleteCache cache = whole;
      if (!cache.rows) {
        HEADRACE_ASSIGN(decoded_cache->reservation, budget->try_reserve(MemoryTag::kBlockCache, plan.cache_bytes));
        for (const StoredGroup& group : groups) {
          auto opened = open_cache_directory(choice.directory, origin_of(group.source, identity), group.rows);
          if (!opened.ok()) {
            decoded_cache->notice(DecodedCache::text_of(opened.error(), DecodedCache::kGoesOn));
            decoded_cache->reservation.release();
            return decoded_cache;
          }
          stores.push_back(std::move(opened->store));
          cache.notes.insert(cache.notes.end(), opened->notes.begin(), opened->notes.end());
        }
      }
      for (const std::string& text : cache.notes) decoded_cache->notice(text);
      // Mapped files count against ulimit -v, like the batches that are still to be allocated.
      if (const std::uint64_t left = free_address_space_bytes(); left < plan.window_bytes()) {
        decoded_cache->notice(fmt::format(
            "{}: ulimit -v leaves {} of address space beside the mapped files, and {} are needed. {}", choice.directory,
            format_bytes(left), format_bytes(plan.window_bytes()), DecodedCache::kGoesOn));
        decoded_cache->reservation.release();
        return decoded_cache;
      }
      decoded_cache->rows = std::move(cache.rows);
      break;
    }
  }
  if (!stores.empty() && !decoded_cache->rows) decoded_cache->rows = std::make_shared<RowStores>(std::move(stores));
  return decoded_cache;
}

CompleteCache find_cache(const Dataset::Impl& dataset, const CacheChoice& choice, const std::string& identity) {
  CompleteCache whole;
  std::vector<std::shared_ptr<RowStore>> stores;
  for (const StoredGroup& group : stored_groups(dataset.source, dataset.layout, *dataset.blocks)) {
    CacheOpened found = find_whole_cache(choice.directory, origin_of(group.source, identity), group.rows);
    whole.notes.insert(whole.notes.end(), found.notes.begin(), found.notes.end());
    if (!found.store) return whole;
    stores.push_back(std::move(found.store));
  }
  if (!stores.empty()) whole.rows = std::make_shared<RowStores>(std::move(stores));
  return whole;
}

bool lies_in_memory(const std::string& directory) {
  std::filesystem::path there = std::filesystem::absolute(directory);
  for (std::error_code ec; !std::filesystem::exists(there, ec) && there.has_relative_path();)
    there = there.parent_path();
  return storage_of(there.string()).kind == StorageKind::kMemory;
}

}  // namespace headrace
