#include "dataset/files/dataset_index.h"

#include <chrono>
#include <utility>

#include "storage/file_system.h"

namespace headrace {
namespace {

/// A file that was written so lately may be written once more without its times or size telling: file systems stamp
/// times in ticks, of 2 s in the worst case. It is indexed the next time.
constexpr std::int64_t kSettledNs = 2'000'000'000;

}  // namespace

bool has_settled(const FileFingerprint& fingerprint) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() - fingerprint.mtime_ns >= kSettledNs;
}

DatasetIndex::DatasetIndex(const std::vector<std::string>& files, std::optional<IndexStore> store)
    : files_(files), store_(std::move(store)) {
  if (!store_) return;
  std::vector<std::string> paths;
  for (const std::string& file : files) paths.push_back(FileSystem::of(file).absolute(file));
  entries_ = store_->load(paths);
  if (!entries_.empty()) return;
  for (std::string& path : paths) entries_.push_back({std::move(path), {}, {}});
}

Result<std::shared_ptr<FormatReader>> DatasetIndex::open(std::size_t file) {
  const std::string& path = files_[file];
  if (store_ && !entries_[file].facts.empty()) {
    IndexEntry& entry = entries_[file];
    const auto now = FileSystem::of(path).status(path);
    if (now.ok() && now->kind == PathKind::kFile && now->fingerprint == entry.fingerprint)
      if (auto reader = open_remembered(path, entry.fingerprint, entry.facts)) {
        ++num_remembered_;
        return reader;
      }
    entry.facts.clear();
    changed_ = true;
  }
  return open_file(path);
}

void DatasetIndex::learn(std::size_t file, const FormatReader& reader,
                         std::span<const std::shared_ptr<ArrayReader>> arrays) {
  if (!store_) return;
  const FileFingerprint fingerprint = reader.file().fingerprint();
  if (!has_settled(fingerprint)) return;
  std::string facts = reader.facts(arrays);
  if (facts.empty() || (facts == entries_[file].facts && fingerprint == entries_[file].fingerprint)) return;
  entries_[file].fingerprint = fingerprint;
  entries_[file].facts = std::move(facts);
  changed_ = true;
}

void DatasetIndex::save() const {
  if (store_ && changed_) (void)store_->save(entries_);
}

}  // namespace headrace
