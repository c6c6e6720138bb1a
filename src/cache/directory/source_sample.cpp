#include "cache/directory/source_sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "base/checksum/crc32c.h"
#include "base/threads/parallel.h"
#include "storage/file_system.h"

namespace headrace {
namespace {

constexpr std::uint64_t kStretchBytes = 64 << 10;
constexpr std::uint64_t kMostStretches = kSampleBytes / kStretchBytes;
constexpr std::uint64_t kMostThreads = 16, kStretchesOfAThread = 16;

struct SampledFile {
  std::string path;
  std::uint64_t begin = 0, end = 0;  // bytes of all files before it, and with it
};

/// Return the files in their order; those of a directory by their names.
std::vector<SampledFile> files_of(const std::vector<CacheSource>& sources) {
  std::vector<SampledFile> files;
  const auto add = [&](const std::string& path, const PathStatus& status) {
    const std::uint64_t begin = files.empty() ? 0 : files.back().end;
    if (status.kind == PathKind::kFile) files.push_back({path, begin, begin + status.fingerprint.size_bytes});
  };
  for (const CacheSource& source : sources) {
    const FileSystem& system = FileSystem::of(source.path);
    const auto status = system.status(source.path);
    if (!status.ok()) continue;
    add(source.path, *status);
    if (status->kind != PathKind::kDirectory || source.fingerprint.entries == 0) continue;
    auto names = system.list(source.path);
    if (!names.ok()) continue;
    std::ranges::sort(*names);
    for (const std::string& name : *names) {
      const std::string path = source.path + "/" + name;
      if (const auto inside = system.status(path); inside.ok()) add(path, *inside);
    }
  }
  return files;
}

/// Return the checksum of so many bytes from a place in all files on, which may lie in several.
Result<std::uint32_t> stretch_of(const std::vector<SampledFile>& files, std::uint64_t begin, std::uint64_t end,
                                 std::vector<std::byte>& buffer) {
  std::uint32_t crc = 0;
  auto file = std::ranges::upper_bound(files, begin, {}, &SampledFile::end);
  for (; begin < end; ++file) {
    const std::uint64_t bytes = std::min(end, file->end) - begin;
    if (bytes == 0) continue;
    buffer.resize(bytes);
    HEADRACE_ASSIGN(const auto opened, FileSystem::of(file->path).open(file->path));
    HEADRACE_TRY(opened->read_at(begin - file->begin, buffer));
    crc = crc32c(buffer, crc);
    begin += bytes;
  }
  return crc;
}

}  // namespace

std::string sample_of(const std::vector<CacheSource>& sources) {
  const std::vector<SampledFile> files = files_of(sources);
  const std::uint64_t total = files.empty() ? 0 : files.back().end;
  const std::uint64_t stretches = std::min((total + kStretchBytes - 1) / kStretchBytes, kMostStretches);
  const bool whole = total <= kSampleBytes;
  std::vector<std::uint32_t> sums(stretches);
  std::atomic<std::uint64_t> next{0};
  const Status read = run_parallel(
      static_cast<int>(std::clamp<std::uint64_t>(stretches / kStretchesOfAThread, 1, kMostThreads)), "hr-sample",
      [&](int, const std::stop_token& stop) -> Status {
        std::vector<std::byte> buffer;
        for (std::uint64_t i; (i = next.fetch_add(1)) < stretches && !stop.stop_requested();) {
          const std::uint64_t begin =
              whole ? i * kStretchBytes : total / stretches * i + total % stretches * i / stretches;
          HEADRACE_ASSIGN(sums[i], stretch_of(files, begin, std::min(begin + kStretchBytes, total), buffer));
        }
        return {};
      });
  if (!read.ok()) return "";
  return fmt::format("{:08x}-{}", crc32c(std::as_bytes(std::span(sums))), total);
}

}  // namespace headrace
