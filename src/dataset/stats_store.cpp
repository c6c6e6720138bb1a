#include "dataset/stats_store.h"

#include <algorithm>
#include <bit>
#include <map>

#include "base/packed.h"
#include "dataset/dataset_index.h"
#include "storage/file_system.h"

namespace headrace {
namespace {

constexpr std::size_t kMostKept = 100;  // results of a data set

using Results = std::map<std::string, std::vector<FeatureMoments>>;

std::string to_bytes(const Results& results) {
  PackedWriter out;
  out.number(results.size());
  for (const auto& [key, moments] : results) {
    out.text(key);
    out.number(moments.size());
    for (const FeatureMoments& m : moments) {
      for (const std::uint64_t n : {m.count, m.nans, m.infinities}) out.number(n);
      for (const double v : {m.mean, m.mean_rest, m.squares, m.least, m.largest})
        out.number(std::bit_cast<std::uint64_t>(v));
    }
  }
  return out.take();
}

/// Return what to_bytes() wrote; nothing of bytes that make no sense.
Results from_bytes(std::string_view bytes) {
  PackedReader in(bytes);
  Results results;
  for (std::size_t n = in.count(); in.ok() && n > 0; --n) {
    const std::string key(in.text());
    std::vector<FeatureMoments> moments(in.count());
    for (FeatureMoments& m : moments) {
      for (std::uint64_t* number : {&m.count, &m.nans, &m.infinities}) *number = in.number();
      for (double* value : {&m.mean, &m.mean_rest, &m.squares, &m.least, &m.largest})
        *value = std::bit_cast<double>(in.number());
    }
    results.emplace(key, std::move(moments));
  }
  return in.complete() ? results : Results();
}

}  // namespace

StatsStore::StatsStore(const Source& source, std::optional<IndexStore> store) : store_(std::move(store)) {
  const auto add = [&](const std::string& path, const FileFingerprint& fingerprint) {
    files_.push_back({FileSystem::of(path).absolute(path), fingerprint, {}});
  };
  for (const SourceFile& file : source.files) {
    add(file.path, file.fingerprint);
    for (const CompanionFile& companion : file.companion_files) add(companion.path, companion.fingerprint);
    for (const OutsideFile& other : other_files(file)) add(other.path, other.fingerprint);
  }
}

std::vector<IndexEntry> StatsStore::load() const {
  if (!store_) return {};
  std::vector<std::string> paths;
  for (const IndexEntry& file : files_) {
    const auto now = FileSystem::of(file.path).status(file.path);
    if (!now.ok() || now->kind != PathKind::kFile || now->fingerprint != file.fingerprint ||
        !has_settled(file.fingerprint))
      return {};
    paths.push_back(file.path);
  }
  std::vector<IndexEntry> kept = store_->load(paths);
  const bool same = std::ranges::equal(kept, files_, {}, &IndexEntry::fingerprint, &IndexEntry::fingerprint);
  return same ? kept : files_;
}

std::optional<std::vector<FeatureMoments>> StatsStore::find(const std::string& key) const {
  const std::vector<IndexEntry> kept = load();
  if (kept.empty()) return std::nullopt;
  Results results = from_bytes(kept[0].facts);
  const auto found = results.find(key);
  return found == results.end() ? std::nullopt : std::optional(std::move(found->second));
}

void StatsStore::keep(const std::string& key, const std::vector<FeatureMoments>& moments) const {
  std::vector<IndexEntry> kept = load();
  if (kept.empty()) return;
  Results results = from_bytes(kept[0].facts);
  if (results.size() >= kMostKept) results.clear();
  results[key] = moments;
  kept[0].facts = to_bytes(results);
  (void)store_->save(kept);
}

}  // namespace headrace
