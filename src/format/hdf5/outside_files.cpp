#include "format/hdf5/outside_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "storage/file_system.h"

namespace headrace::hdf5 {
namespace {

constexpr int kFilesLimit = 10'000;

/// What a file is now; nullopt if it is no file any more.
std::optional<FileFingerprint> fingerprint_now(const std::string& path) {
  const auto status = FileSystem::of(path).status(path);
  if (!status.ok() || status->kind != PathKind::kFile) return std::nullopt;
  return status->fingerprint;
}

}  // namespace

Result<std::vector<RawSegment>> external_segments(const LibraryLock&, hid_t creation_list, const std::string& directory,
                                                  std::uint64_t needed_bytes) {
  if (directory.empty()) return Error(ErrorCode::kUnsupported, "external raw files beside a file without a directory");
  std::vector<RawSegment> segments;
  const int count = H5Pget_external_count(creation_list);
  std::uint64_t left = needed_bytes;
  for (int i = 0; i < std::min(count, kFilesLimit) && left > 0; ++i) {
    std::string name(4096, '\0');
    off_t offset = 0;
    hsize_t size = 0;
    if (H5Pget_external(creation_list, static_cast<unsigned>(i), name.size() - 1, name.data(), &offset, &size) < 0)
      return Error(ErrorCode::kCorruptData, "the list of external raw files is damaged");
    name.resize(name.find('\0'));
    HEADRACE_ASSIGN(const std::string path, path_inside(directory, name));
    const auto file = fingerprint_now(path);
    if (!file) return Error(ErrorCode::kNotFound, fmt::format("cannot find '{}'", name));
    const std::uint64_t want = size == H5F_UNLIMITED ? left : std::min<std::uint64_t>(left, size);
    const auto start = static_cast<std::uint64_t>(offset);
    if (offset < 0 || start > file->size_bytes || want > file->size_bytes - start)
      return Error(ErrorCode::kCorruptData, fmt::format("external file '{}' has {} bytes, {} from {} on are needed",
                                                        name, file->size_bytes, want, start));
    segments.push_back({path, start, want});
    left -= want;
  }
  if (left > 0)
    return Error(ErrorCode::kCorruptData,
                 fmt::format("its external raw files hold {} bytes, {} are needed", needed_bytes - left, needed_bytes));
  return segments;
}

}  // namespace headrace::hdf5
