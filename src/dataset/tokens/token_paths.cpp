#include "dataset/tokens/token_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "dataset/files/paths.h"
#include "format/tokens/token_manifest.h"
#include "storage/file_system.h"

namespace headrace {
namespace {

/// Endings of files beside those of tokens, and what stands in their place there.
constexpr std::array<std::array<std::string_view, 2>, 4> kBeside{
    {{".idx", ".bin"}, {".ds.index", ".ds"}, {".ds.metadata", ".ds"}, {".ds.loss", ".ds"}}};

std::string tokens_beside(const std::string& path) {
  for (const auto& [ending, own] : kBeside)
    if (path.ends_with(ending)) return path.substr(0, path.size() - ending.size()).append(own);
  return path;
}

PathKind kind_of(const std::string& path) {
  const auto status = FileSystem::of(path).status(path);
  return status.ok() ? status->kind : PathKind::kNothing;
}

Status add_folder(const std::string& folder, std::vector<std::string>& out) {
  if (!token_files::is_token_folder(folder))
    return Error(ErrorCode::kInvalidArgument, "this is a directory without a manifest of tokens")
        .with_file(folder)
        .with_hint(fmt::format("Name the files inside: {}.", token_files::path_in(folder, "*.bin")));
  HEADRACE_ASSIGN(const token_files::TokenManifest manifest, token_files::read_token_manifest(folder));
  for (const token_files::TokenShard& shard : manifest.shards) out.push_back(token_files::path_in(folder, shard.file));
  return {};
}

/// A prefix, as Megatron's programs take one.
bool is_prefix(const std::string& path) {
  return !path.empty() && kind_of(path) == PathKind::kNothing && kind_of(path + ".bin") == PathKind::kFile;
}

Status expand_tokens(const std::string& written, std::vector<std::string>& out) {
  if (kind_of(written) == PathKind::kDirectory && !written.empty()) return add_folder(written, out);
  HEADRACE_ASSIGN(const std::vector<std::string> found,
                  expand_paths({is_prefix(written) ? written + ".bin" : written}));
  std::vector<std::string> files;
  for (const std::string& path : found) {
    if (kind_of(path) == PathKind::kDirectory) {
      HEADRACE_TRY(add_folder(path, files));
    } else if (std::string own = tokens_beside(path); std::ranges::find(files, own) == files.end()) {
      files.push_back(std::move(own));  // a glob may match a file and the index beside it
    }
  }
  out.insert(out.end(), files.begin(), files.end());
  return {};
}

}  // namespace

Result<std::vector<std::string>> token_paths(const std::vector<std::string>& paths) {
  if (paths.empty()) return Error(ErrorCode::kInvalidArgument, "no files were given");
  std::vector<std::string> files;
  std::unordered_map<std::string, std::string> seen;
  for (const std::string& path : paths) {
    const std::size_t before = files.size();
    HEADRACE_TRY(expand_tokens(path, files));
    for (std::size_t i = before; i < files.size(); ++i) {
      const auto [place, fresh] = seen.emplace(FileSystem::of(files[i]).absolute(files[i]), path);
      if (!fresh)
        return Error(ErrorCode::kInvalidArgument,
                     fmt::format("this file is given twice, by '{}' and by '{}'", place->second, path))
            .with_file(files[i])
            .with_hint("Every sample is delivered once an epoch: name each file once.");
    }
  }
  return files;
}

}  // namespace headrace
