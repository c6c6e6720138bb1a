#include "format/npy/cache_folder.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "format/npy/manifest_text.h"
#include "format/npy/npy_entries.h"
#include "storage/file_system.h"

namespace headrace::npy {
namespace {

using Json = nlohmann::ordered_json;

struct CachedField {
  std::string name, file, dtype;
  std::vector<std::uint64_t> shape;  ///< Shape of all rows.
};

std::string join(const std::string& folder, std::string_view name) {
  return folder.ends_with('/') ? fmt::format("{}{}", folder, name) : fmt::format("{}/{}", folder, name);
}

std::optional<std::string> text_in(const Json& object, const char* key) {
  if (!object.is_object() || !object.contains(key) || !object[key].is_string()) return std::nullopt;
  return object[key].get<std::string>();
}

std::optional<CachedField> parse_field(const Json& entry, std::uint64_t rows) {
  const auto name = text_in(entry, "name"), file = text_in(entry, "file"), dtype = text_in(entry, "dtype");
  if (!name || name->empty() || !file || !is_plain_file_name(*file) || !dtype) return std::nullopt;
  if (!entry.contains("shape") || !entry["shape"].is_array()) return std::nullopt;
  CachedField field{*name, *file, *dtype, {rows}};
  for (const Json& extent : entry["shape"]) {
    if (!extent.is_number_unsigned()) return std::nullopt;
    field.shape.push_back(extent.get<std::uint64_t>());
  }
  return field;
}

Result<std::vector<CachedField>> read_manifest(const RandomAccessFile& file) {
  if (file.size() > ManifestText::kMostBytes)
    return Error(ErrorCode::kCorruptData, fmt::format("a manifest of {} bytes", file.size()));
  std::string text(file.size(), '\0');
  HEADRACE_TRY(file.read_at(0, std::as_writable_bytes(std::span(text))));
  const Result<Json> read = ManifestText::read(text);
  if (!read.ok()) return Error(read.error().code(), read.error().message());
  const Json& manifest = *read;
  const bool sound = manifest.contains("rows") && manifest["rows"].is_number_unsigned() &&
                     manifest.contains("fields") && manifest["fields"].is_array();
  if (!sound) return Error(ErrorCode::kCorruptData, "the manifest has no rows or no fields");
  std::vector<CachedField> fields;
  for (const Json& entry : manifest["fields"]) {
    std::optional<CachedField> field = parse_field(entry, manifest["rows"].get<std::uint64_t>());
    if (!field) return Error(ErrorCode::kCorruptData, "the entry of a field is invalid");
    fields.push_back(std::move(*field));
  }
  return fields;
}

Result<Entry> open_field(const std::string& folder, const CachedField& field) {
  const std::string path = join(folder, field.file);
  auto file = FileSystem::of(path).open(path);
  if (!file.ok()) return std::move(file.error().with_file(path));
  auto entry = open_npy_entry(std::move(*file), path, field.name);
  if (!entry.ok()) return std::move(entry.error().with_file(path));
  const ArrayInfo& info = entry->info;
  if (info.read_path == ReadPath::kUnsupported || info.is_record || info.shape != field.shape ||
      info.columns[0].dtype.numpy_typestr() != field.dtype)
    return Error(ErrorCode::kCorruptData, "its header is not that of the array in the manifest")
        .with_file(path)
        .with_hint("Remove the cache, and it is made again by the next run.");
  return entry;
}

Result<std::shared_ptr<FormatReader>> open_folder(const std::string& path) {
  const std::string manifest_path = join(path, ManifestText::kFileName);
  HEADRACE_ASSIGN(std::shared_ptr<RandomAccessFile> manifest, FileSystem::of(path).open(manifest_path));
  auto fields = read_manifest(*manifest);
  if (!fields.ok()) return std::move(fields.error().with_file(manifest->name()));
  std::vector<Entry> entries;
  for (const CachedField& field : *fields) {
    auto entry = open_field(path, field);
    if (!entry.ok()) return std::move(entry.error().with_field(field.name));
    entries.push_back(std::move(*entry));
  }
  return make_npy_reader("Headrace cache (.npy files)", path, std::move(manifest), std::move(entries));
}

}  // namespace

bool is_cache_folder(const std::string& path) {
  const auto status = FileSystem::of(path).status(join(path, ManifestText::kFileName));
  return status.ok() && status->kind == PathKind::kFile;
}

Result<std::shared_ptr<FormatReader>> open_cache_folder(const std::string& path) {
  auto reader = open_folder(path);
  if (!reader.ok()) reader.error().with_stage("open");
  return reader;
}

}  // namespace headrace::npy
