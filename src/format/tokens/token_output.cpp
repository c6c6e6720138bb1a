#include "format/tokens/token_output.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "format/tokens/megatron_index.h"
#include "format/tokens/output_formats.h"
#include "format/tokens/output_place.h"
#include "storage/file_system.h"

namespace headrace::token_files {
namespace {

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

Result<std::unique_ptr<TokenOutput>> open(OutputFormat format, const std::string& path, TokenManifest manifest,
                                          std::uint64_t shard_tokens, Unfinished unfinished,
                                          const std::string* checkpoint) {
  if (format == OutputFormat::kFolder)
    return open_folder_output(without_slashes(path), std::move(manifest), shard_tokens, unfinished, checkpoint);
  if (format == OutputFormat::kRaw) return open_flat_output(path, unfinished, checkpoint);
  if (megatron_code(manifest.dtype) == 0)
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("Megatron's files have no code for {}", manifest.dtype.name()))
        .with_file(path)
        .with_hint("It writes uint16 for vocabularies below 65,500, and int32 for all others.");
  return open_megatron_output(stem_of(path), manifest.dtype, unfinished, checkpoint);
}

}  // namespace

std::string stem_of(const std::string& path) {
  return path.ends_with(".bin") || path.ends_with(".idx") ? path.substr(0, path.size() - 4) : path;
}

Result<std::unique_ptr<TokenOutput>> open_token_output(OutputFormat format, const std::string& path,
                                                       TokenManifest manifest, std::uint64_t shard_tokens,
                                                       Unfinished unfinished) {
  return open(format, path, std::move(manifest), shard_tokens, unfinished, nullptr);
}

Result<std::unique_ptr<TokenOutput>> resume_token_output(OutputFormat format, const std::string& path,
                                                         TokenManifest manifest, std::uint64_t shard_tokens,
                                                         const std::string& checkpoint) {
  try {
    return open(format, path, std::move(manifest), shard_tokens, Unfinished::kKept, &checkpoint);
  } catch (const nlohmann::json::exception&) {
    return Error(ErrorCode::kCorruptData, "what is said of the unfinished output lacks a part, or is damaged")
        .with_file(path)
        .with_hint("Begin anew: restart=True, --restart.");
  }
}

std::vector<std::string> files_of(OutputFormat format, const std::string& path) {
  if (format == OutputFormat::kRaw) return {path};
  if (format != OutputFormat::kFolder) return {stem_of(path) + ".bin", stem_of(path) + ".idx"};
  const std::string folder = without_slashes(path);
  auto names = FileSystem::of(folder).list(folder);
  if (!names.ok()) return {path_in(folder, TokenManifest::kFileName)};
  std::vector<std::string> files;
  for (const std::string& name : *names) files.push_back(path_in(folder, name));
  return files;
}

void remove_unfinished(OutputFormat format, const std::string& path) {
  if (format == OutputFormat::kFolder) return remove_quietly(kept_name(without_slashes(path)));
  if (format == OutputFormat::kRaw) return remove_quietly(kept_name(path));
  for (const char* const ending : {".bin", ".idx"}) remove_quietly(kept_name(stem_of(path) + ending));
}

}  // namespace headrace::token_files
