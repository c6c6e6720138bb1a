#include "dataset/facts/kept_facts.h"

#include <algorithm>

#include "base/packed.h"
#include "dataset/files/dataset_index.h"
#include "storage/file_system.h"
#include "storage/version_now.h"

namespace headrace {
namespace {

constexpr std::size_t kMostKept = 100;  // facts of a data set

std::string to_bytes(const std::map<std::string, std::string>& facts) {
  PackedWriter out;
  out.number(facts.size());
  for (const auto& [key, bytes] : facts) {
    out.text(key);
    out.text(bytes);
  }
  return out.take();
}

/// Return what to_bytes() wrote; nothing of bytes that make no sense.
std::map<std::string, std::string> from_bytes(std::string_view bytes) {
  PackedReader in(bytes);
  std::map<std::string, std::string> facts;
  for (std::size_t n = in.count(); in.ok() && n > 0; --n) {
    std::string key(in.text());
    facts.emplace(std::move(key), in.text());
  }
  return in.complete() ? facts : std::map<std::string, std::string>();
}

}  // namespace

KeptFacts::KeptFacts(const Source& source, std::optional<IndexStore> store) : store_(std::move(store)) {
  const auto add = [&](const std::string& path, const FileFingerprint& fingerprint) {
    files_.push_back({FileSystem::of(path).absolute(path), fingerprint, {}});
  };
  for (const SourceFile& file : source.files) {
    add(file.path, file.fingerprint);
    for (const CompanionFile& companion : file.companion_files) add(companion.path, companion.fingerprint);
    for (const OutsideFile& other : other_files(file)) add(other.path, other.fingerprint);
  }
  if (!store_) return;
  const std::vector<IndexEntry> now = files_now();
  std::vector<IndexEntry> files;
  for (std::size_t f = 0; f < now.size(); ++f) {
    const FileFingerprint &opened = files_[f].fingerprint, &found = now[f].fingerprint;
    const bool is_directory = found.entries != 0;
    if (is_directory && opened.size_bytes != 0) continue;  // a store: its arrays name what they read
    const bool is_in_memory = opened == FileFingerprint{};
    is_unchanged_ = is_unchanged_ && !is_in_memory && (is_directory || found == opened) && has_settled(found);
    files.push_back(now[f]);
  }
  files_ = std::move(files);
}

std::vector<IndexEntry> KeptFacts::files_now() const {
  std::vector<std::string> paths;
  for (const IndexEntry& file : files_) paths.push_back(file.path);
  const auto versions = versions_now(paths);
  std::vector<IndexEntry> now;
  for (std::size_t f = 0; f < paths.size(); ++f)
    now.push_back({std::move(paths[f]), versions[f].value_or(FileFingerprint{}), {}});
  return now;
}

std::vector<IndexEntry> KeptFacts::load() const {
  if (!store_ || files_.empty() || !is_unchanged_) return {};
  std::vector<std::string> paths;
  for (const IndexEntry& file : files_) paths.push_back(file.path);
  std::vector<IndexEntry> kept = store_->load(paths);
  const bool same = std::ranges::equal(kept, files_, {}, &IndexEntry::fingerprint, &IndexEntry::fingerprint);
  return same ? kept : files_;
}

std::optional<std::string> KeptFacts::find(const std::string& key) const {
  const std::vector<IndexEntry> kept = load();
  if (kept.empty()) return std::nullopt;
  Facts facts = from_bytes(kept[0].facts);
  const auto found = facts.find(key);
  return found == facts.end() ? std::nullopt : std::optional(std::move(found->second));
}

void KeptFacts::keep(const std::string& key, std::string bytes) const {
  if (!std::ranges::equal(files_now(), files_, {}, &IndexEntry::fingerprint, &IndexEntry::fingerprint)) return;
  std::vector<IndexEntry> kept = load();
  if (kept.empty()) return;
  Facts facts = from_bytes(kept[0].facts);
  if (facts.size() >= kMostKept) facts.clear();
  facts[key] = std::move(bytes);
  kept[0].facts = to_bytes(facts);
  (void)store_->save(kept);
}

}  // namespace headrace
