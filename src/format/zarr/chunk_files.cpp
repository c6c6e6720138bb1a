#include "format/zarr/chunk_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "storage/file_system.h"

namespace headrace::zarr {
namespace {

/// A directory on the way to chunks, and the part of their names that leads there: "c/0/1".
struct Level {
  std::string path, name;
};

bool is_number(const std::string& name) {
  return !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
}

std::size_t depth_of(const ChunkKeys& keys, std::size_t rank) {
  if (keys.separator != '/') return 0;
  return rank - 1 + (keys.has_prefix ? 1 : 0);
}

/// Return the directories that hold chunks: those at the last level.
Result<std::vector<Level>> last_level(const std::string& directory, const ChunkKeys& keys, std::size_t rank,
                                      std::vector<Level>* above) {
  std::vector<Level> level{{directory, ""}};
  for (std::size_t depth = depth_of(keys, rank), d = 0; d < depth; ++d) {
    std::vector<Level> next;
    for (const Level& at : level) {
      HEADRACE_ASSIGN(const std::vector<std::string> names, FileSystem::of(at.path).list(at.path));
      for (const std::string& name : names)
        if (d == 0 && keys.has_prefix ? name == "c" : is_number(name))
          next.push_back({at.path + "/" + name, at.name.empty() ? name : at.name + "/" + name});
    }
    if (above != nullptr) above->insert(above->end(), level.begin(), level.end());
    level = std::move(next);
  }
  return level;
}

}  // namespace

Result<std::vector<std::vector<std::uint64_t>>> list_chunk_files(const std::string& directory, const ChunkKeys& keys,
                                                                 std::size_t rank) {
  HEADRACE_ASSIGN(const std::vector<Level> levels, last_level(directory, keys, rank, nullptr));
  std::vector<std::vector<std::uint64_t>> out;
  for (const Level& at : levels) {
    HEADRACE_ASSIGN(const std::vector<std::string> names, FileSystem::of(at.path).list(at.path));
    for (const std::string& name : names)
      if (auto chunk = keys.parse(at.name.empty() ? name : at.name + "/" + name, rank))
        out.push_back(std::move(*chunk));
  }
  return out;
}

std::vector<OutsideFile> chunk_directories(const std::string& directory, const ChunkKeys& keys, std::size_t rank) {
  std::vector<Level> above;
  auto last = last_level(directory, keys, rank, &above);
  if (last.ok()) above.insert(above.end(), last->begin(), last->end());
  std::vector<OutsideFile> out;
  for (const Level& at : above) {
    auto status = FileSystem::of(at.path).status(at.path);
    if (!status.ok() || status->kind != PathKind::kDirectory) continue;
    status->fingerprint.size_bytes = 0;  // says nothing of what is in it
    out.push_back({FileSystem::of(at.path).canonical(at.path), status->fingerprint});
  }
  return out;
}

Status check_separator(const std::string& directory, const ChunkKeys& keys, std::size_t rank) {
  const ChunkKeys other = keys.other();
  const std::string first = directory + "/" + keys.example(rank);
  HEADRACE_ASSIGN(const PathStatus status, FileSystem::of(first).status(first));
  if (status.kind == PathKind::kFile) return {};
  HEADRACE_ASSIGN(const std::vector<std::string> names, FileSystem::of(directory).list(directory));
  // One axis: "0" either way without the prefix.
  if (rank == 1 && !keys.has_prefix) return {};
  const auto slashes = [&](const std::string& name) { return keys.has_prefix ? name == "c" : is_number(name); };
  const ChunkKeys dots{keys.has_prefix, '.'};
  const auto dotted = [&](const std::string& name) { return dots.parse(name, rank).has_value(); };
  const bool any_slashes = std::ranges::any_of(names, slashes), any_dots = std::ranges::any_of(names, dotted);
  const bool ours = keys.separator == '/' ? any_slashes : any_dots,
             others = keys.separator == '/' ? any_dots : any_slashes;
  if (ours || !others) return {};
  return Error(ErrorCode::kCorruptData,
               fmt::format(
                   "its chunks are named as {}, but its metadata says {}: not one would be found, and all be fill "
                   "values",
                   other.example(rank), keys.example(rank)))
      .with_hint(fmt::format("Correct the separator in its metadata: \"{}\".", other.separator));
}

}  // namespace headrace::zarr
