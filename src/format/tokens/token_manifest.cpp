#include "format/tokens/token_manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "format/npy/manifest_text.h"
#include "format/tokens/token_type.h"
#include "storage/file_system.h"

namespace headrace::token_files {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMostManifestBytes = std::uint64_t{64} << 20;  // half a million shards

Error manifest_wrong(std::string what) {
  return std::move(Error(ErrorCode::kCorruptData, std::move(what)).with_stage("manifest"));
}

const Json& value_in(const Json& object, const char* key) {
  static const Json nothing;
  const auto found = object.find(key);
  return found == object.end() ? nothing : *found;
}

/// A number of 0 or more; `otherwise` where it is missing or null.
Result<std::uint64_t> number_in(const Json& object, const char* key, std::optional<std::uint64_t> otherwise = {}) {
  const Json& value = value_in(object, key);
  if (value.is_null() && otherwise) return *otherwise;
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  return manifest_wrong(fmt::format("\"{}\" is no whole number of 0 or more", key));
}

/// Text; empty where it is missing or null.
Result<std::string> text_in(const Json& object, const char* key) {
  const Json& value = value_in(object, key);
  if (value.is_null()) return std::string();
  if (value.is_string()) return value.get<std::string>();
  return manifest_wrong(fmt::format("\"{}\" is no text", key));
}

Result<TokenShard> parse_shard(const Json& entry, std::size_t number) {
  if (!entry.is_object()) return manifest_wrong(fmt::format("shard {} is no object", number));
  TokenShard shard;
  HEADRACE_ASSIGN(shard.file, text_in(entry, "file"));
  HEADRACE_ASSIGN(shard.ends, text_in(entry, "ends"));
  HEADRACE_ASSIGN(shard.tokens, number_in(entry, "tokens"));
  HEADRACE_ASSIGN(shard.documents, number_in(entry, "documents", 0));
  if (!is_plain_file_name(shard.file) || !(shard.ends.empty() || is_plain_file_name(shard.ends)))
    return manifest_wrong(fmt::format("shard {} names no file of the folder", number));
  return shard;
}

}  // namespace

std::string manifest_text(const TokenManifest& manifest) {
  std::uint64_t tokens = 0, documents = 0;
  Json shards = Json::array();
  for (const TokenShard& shard : manifest.shards) {
    Json entry = {{"file", shard.file}, {"ends", nullptr}, {"tokens", shard.tokens}, {"documents", shard.documents}};
    if (!shard.ends.empty()) entry["ends"] = shard.ends;
    shards.push_back(std::move(entry));
    tokens += shard.tokens;
    documents += shard.documents;
  }
  Json json = {{"format", TokenManifest::kFormat},
               {"format_version", TokenManifest::kFormatVersion},
               {"dtype", manifest.dtype.name()},
               {"vocab_size", nullptr},
               {"tokenizer", nullptr},
               {"end_of_text", nullptr},
               {"tokens", tokens},
               {"documents", documents},
               {"shards", std::move(shards)}};
  if (manifest.vocab_size > 0) json["vocab_size"] = manifest.vocab_size;
  if (!manifest.tokenizer.empty() || !manifest.tokenizer_hash.empty())
    json["tokenizer"] = {{"name", manifest.tokenizer}, {"hash", manifest.tokenizer_hash}};
  if (manifest.end_of_text) json["end_of_text"] = *manifest.end_of_text;
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<TokenManifest> parse_token_manifest(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object()) return manifest_wrong("it is no JSON object");
  HEADRACE_ASSIGN(const std::string format, text_in(json, "format"));
  if (format != TokenManifest::kFormat)
    return manifest_wrong(fmt::format("its format is not \"{}\"", TokenManifest::kFormat));
  HEADRACE_ASSIGN(const std::uint64_t version, number_in(json, "format_version"));
  if (version != TokenManifest::kFormatVersion)
    return std::move(Error(ErrorCode::kUnsupported,
                           fmt::format("version {} of the format, {} is known", version, TokenManifest::kFormatVersion))
                         .with_stage("manifest"));
  TokenManifest manifest;
  HEADRACE_ASSIGN(const std::string dtype, text_in(json, "dtype"));
  const std::optional<DType> type = token_type(dtype);
  if (!type) return manifest_wrong(fmt::format("\"dtype\" is '{}', no type of whole numbers", dtype));
  manifest.dtype = *type;
  HEADRACE_ASSIGN(manifest.vocab_size, number_in(json, "vocab_size", 0));
  if (const Json& tokenizer = value_in(json, "tokenizer"); tokenizer.is_object()) {
    HEADRACE_ASSIGN(manifest.tokenizer, text_in(tokenizer, "name"));
    HEADRACE_ASSIGN(manifest.tokenizer_hash, text_in(tokenizer, "hash"));
  }
  if (!value_in(json, "end_of_text").is_null()) {
    HEADRACE_ASSIGN(manifest.end_of_text, number_in(json, "end_of_text"));
  }
  const Json& shards = value_in(json, "shards");
  if (!shards.is_array() || shards.empty()) return manifest_wrong("\"shards\" is no list, or an empty one");
  std::uint64_t tokens = 0;
  for (const Json& entry : shards) {
    HEADRACE_ASSIGN(TokenShard shard, parse_shard(entry, manifest.shards.size()));
    tokens += shard.tokens;
    manifest.shards.push_back(std::move(shard));
  }
  HEADRACE_ASSIGN(const std::uint64_t all, number_in(json, "tokens", tokens));
  if (all != tokens) return manifest_wrong(fmt::format("\"tokens\" is {}, and its shards have {}", all, tokens));
  return manifest;
}

std::string path_in(const std::string& folder, std::string_view name) {
  return folder.ends_with('/') ? fmt::format("{}{}", folder, name) : fmt::format("{}/{}", folder, name);
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

bool is_token_folder(const std::string& path) {
  const std::string manifest = path_in(path, TokenManifest::kFileName);
  const FileSystem& files = FileSystem::of(path);
  const auto status = files.status(manifest);
  if (!status.ok() || status->kind != PathKind::kFile) return false;
  const auto file = files.open(manifest);
  if (!file.ok()) return false;
  constexpr std::uint64_t kStart = 4096;
  std::string start(std::min(kStart, (*file)->size()), '\0');
  if (!(*file)->read_at(0, std::as_writable_bytes(std::span(start))).ok()) return false;
  return start.find(fmt::format("\"{}\"", TokenManifest::kFormat)) != std::string::npos;
}

Result<TokenManifest> read_token_manifest(const std::string& folder) {
  const std::string path = path_in(folder, TokenManifest::kFileName);
  auto file = FileSystem::of(path).open(path);
  if (!file.ok()) return std::move(file.error().with_file(path));
  if ((*file)->size() > kMostManifestBytes)
    return std::move(manifest_wrong(fmt::format("a manifest of {} bytes", (*file)->size())).with_file(path));
  std::string text((*file)->size(), '\0');
  HEADRACE_TRY((*file)->read_at(0, std::as_writable_bytes(std::span(text))));
  auto manifest = parse_token_manifest(text);
  if (!manifest.ok()) return std::move(manifest.error().with_file(path));
  return manifest;
}

}  // namespace headrace::token_files
