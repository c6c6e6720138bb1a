#include "cache/directory/cache_match.h"

#include <headrace/bytes.h>

#include <fmt/format.h>

#include <filesystem>

#include "cache/directory/cache_manifest.h"
#include "cache/directory/source_sample.h"

namespace headrace {
namespace {

FileFingerprint without_device(FileFingerprint fingerprint) {
  fingerprint.device = 0;
  return fingerprint;
}

/// Name the first source that was touched since, and say how.
std::optional<std::string> touched_source(const CacheManifest& found, const CacheOrigin& origin) {
  for (std::size_t i = 0; i < found.sources.size(); ++i) {
    const FileFingerprint& now = origin.sources[i].fingerprint;
    if (change_of(found.sources[i], now) == FileChange::kTouched)
      return fmt::format("{}: {}", std::filesystem::path(origin.sources[i].path).filename().string(),
                         *change_text(found.sources[i], now));
  }
  return std::nullopt;
}

}  // namespace

FileChange change_of(const CacheSource& then, const FileFingerprint& now) {
  return change_between(without_device(then.fingerprint), without_device(now));
}

std::optional<std::string> change_text(const CacheSource& then, const FileFingerprint& now) {
  FileFingerprint before = without_device(then.fingerprint);
  if (change_of(then, now) == FileChange::kChanged) before.inode = 0;  // a new version most often has a new one
  return describe_change(before, without_device(now));
}

std::optional<std::string> difference_of(WholeCache& cache, const CachePlan& plan, std::vector<std::string>& notes) {
  CacheManifest& manifest = cache.manifest;
  if (auto difference = describe_difference(manifest, plan.origin, plan.layout)) return difference;
  const auto touched = touched_source(manifest, plan.origin);
  if (!touched) return std::nullopt;
  const std::string sample = manifest.sample.empty() ? "" : sample_of(plan.origin.sources);
  if (sample.empty() || sample != manifest.sample) return "made from another version of " + *touched;
  notes.push_back(fmt::format("{}: used: {}; its bytes, {} at most and spread over all files, are as they were",
                              plan.name, *touched, format_bytes(kSampleBytes)));
  for (std::size_t i = 0; i < manifest.sources.size(); ++i)
    manifest.sources[i].fingerprint = plan.origin.sources[i].fingerprint;
  (void)cache.folder.write_file(CacheManifest::kFileName, manifest.to_json());  // or the next run compares again
  return std::nullopt;
}

}  // namespace headrace
