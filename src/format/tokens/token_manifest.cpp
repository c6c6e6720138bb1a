#include "format/tokens/token_manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/checksum/crc32c.h"
#include "base/text/read_json.h"
#include "format/npy/manifest_text.h"
#include "format/tokens/token_type.h"
#include "storage/file_system.h"

namespace headrace::token_files {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kChecksum = "crc32c";
constexpr const char* kEndsChecksum = "ends_crc32c";
constexpr std::uint64_t kMostManifestBytes = std::uint64_t{64} << 20;  // half a million shards

Error manifest_wrong(std::string what) {
  return Error(ErrorCode::kCorruptData, std::move(what)).with_stage("manifest");
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

std::string hex_of(std::uint32_t crc) {
  return fmt::format("{:08x}", crc);
}

/// A checksum; nullopt where it is missing or null.
Result<std::optional<std::uint32_t>> checksum_in(const Json& object, const char* key) {
  HEADRACE_ASSIGN(const std::string text, text_in(object, key));
  if (text.empty()) return std::optional<std::uint32_t>();
  std::uint32_t crc = 0;
  const char* last = text.data() + text.size();
  const auto read = std::from_chars(text.data(), last, crc, 16);
  if (read.ec != std::errc() || read.ptr != last || text.size() != 8)
    return manifest_wrong(fmt::format("\"{}\" is \"{}\", where 8 hexadecimal digits are expected", key, text));
  return std::optional(crc);
}

std::string dumped(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

/// The checksum of a manifest without its checksum.
std::uint32_t checksum_of(const Json& json) {
  const std::string text = dumped(json);
  return crc32c(std::as_bytes(std::span(text)));
}

Status check_keys(const Json& object, std::span<const std::string_view> known) {
  if (const auto found = misspelt_key_in(object, known))
    return manifest_wrong(fmt::format("it has no \"{}\", and an unknown \"{}\"", found->missing, found->unknown));
  return {};
}

/// Compare a manifest with its checksum, if it has one.
Status check_manifest(Json json) {
  HEADRACE_ASSIGN(const auto said, checksum_in(json, kChecksum));
  if (!said) return {};
  json.erase(kChecksum);
  if (const std::uint32_t found = checksum_of(json); found != *said)
    return manifest_wrong(fmt::format("its checksum is {}, and that of its content {}", hex_of(*said), hex_of(found)))
        .with_hint("Was it damaged? If it was changed by hand, remove its last entry, \"crc32c\".");
  return {};
}

Result<TokenShard> parse_shard(const Json& entry, std::size_t number) {
  if (!entry.is_object()) return manifest_wrong(fmt::format("shard {} is no object", number));
  constexpr auto kKnown =
      std::to_array<std::string_view>({"file", "ends", "tokens", "documents", kChecksum, kEndsChecksum});
  HEADRACE_TRY(check_keys(entry, kKnown));
  TokenShard shard;
  HEADRACE_ASSIGN(shard.file, text_in(entry, "file"));
  HEADRACE_ASSIGN(shard.ends, text_in(entry, "ends"));
  HEADRACE_ASSIGN(shard.tokens, number_in(entry, "tokens"));
  HEADRACE_ASSIGN(shard.documents, number_in(entry, "documents", 0));
  HEADRACE_ASSIGN(shard.crc32c, checksum_in(entry, kChecksum));
  HEADRACE_ASSIGN(shard.ends_crc32c, checksum_in(entry, kEndsChecksum));
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
    if (shard.crc32c) entry[kChecksum] = hex_of(*shard.crc32c);
    if (shard.ends_crc32c) entry[kEndsChecksum] = hex_of(*shard.ends_crc32c);
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
  json[kChecksum] = hex_of(checksum_of(json));
  return dumped(json) + "\n";
}

Result<TokenManifest> parse_token_manifest(std::string_view text) {
  const auto read = read_json<Json>(text);
  if (!read.ok() || !read->is_object())
    return manifest_wrong(read.ok() ? "it is no JSON object" : read.error().message());
  const Json& json = *read;
  HEADRACE_ASSIGN(const std::string format, text_in(json, "format"));
  if (format != TokenManifest::kFormat)
    return manifest_wrong(fmt::format("its format is not \"{}\"", TokenManifest::kFormat));
  HEADRACE_ASSIGN(const std::uint64_t version, number_in(json, "format_version"));
  if (version != TokenManifest::kFormatVersion)
    return Error(ErrorCode::kUnsupported,
                 fmt::format("version {} of the format, {} is known", version, TokenManifest::kFormatVersion))
        .with_stage("manifest");
  constexpr auto kKnown =
      std::to_array<std::string_view>({"format", "format_version", "dtype", "vocab_size", "tokenizer", "end_of_text",
                                       "tokens", "documents", "shards", kChecksum});
  HEADRACE_TRY(check_keys(json, kKnown));
  HEADRACE_TRY(check_manifest(json));
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
    return manifest_wrong(fmt::format("a manifest of {} bytes", (*file)->size())).with_file(path);
  std::string text((*file)->size(), '\0');
  HEADRACE_TRY((*file)->read_at(0, std::as_writable_bytes(std::span(text))));
  auto manifest = parse_token_manifest(text);
  if (!manifest.ok()) return std::move(manifest.error().with_file(path));
  return manifest;
}

}  // namespace headrace::token_files
