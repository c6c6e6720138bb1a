#include "format/zarr/store_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "storage/file_system.h"

namespace headrace::zarr {
namespace {

constexpr std::uint64_t kMostMetadataBytes = std::uint64_t{256} << 20;  // consolidated ones of large stores are long
constexpr std::size_t kMostDepth = 64;
constexpr std::size_t kMostVisits = 64;

bool is_file(const std::string& path) {
  const auto status = FileSystem::of(path).status(path);
  return status.ok() && status->kind == PathKind::kFile;
}

std::string join(const std::string& directory, const std::string& name) {
  return directory.empty() || directory.ends_with('/') ? directory + name : directory + "/" + name;
}

/// A document, and the file that holds it.
struct Document {
  std::shared_ptr<RandomAccessFile> file;
  Result<Json> json;
};
Result<Document> read_document(const std::string& path) {
  auto file = FileSystem::of(path).open(path);
  if (!file.ok()) return std::move(file.error().with_file(path));
  if ((*file)->size() > kMostMetadataBytes)
    return Error(ErrorCode::kCorruptData, fmt::format("metadata of {} bytes", (*file)->size())).with_file(path);
  std::vector<std::byte> bytes(static_cast<std::size_t>((*file)->size()));
  if (Status read = (*file)->read_at(0, bytes); !read.ok()) return std::move(read.error().with_file(path));
  auto json = parse_json(bytes);
  if (!json.ok()) json.error().with_file(path);
  return Document{std::move(*file), std::move(json)};
}

class Walk {
 public:
  FoundStore found;

  /// \param path  In the store; empty: its root. \param depth  Of directories above it.
  Status enter(const std::string& directory, const std::string& path, std::size_t depth) {
    if (depth > kMostDepth) return pass_over(directory, path, fmt::format("it lies deeper than {} groups", kMostDepth));
    const std::string array = join(directory, ".zarray"), group = join(directory, ".zgroup"),
                      v3 = join(directory, "zarr.json");
    if (is_file(v3)) return enter_v3(directory, path, v3, depth);
    if (is_file(array)) return add_v2(directory, path, array);
    if (path.empty()) {
      HEADRACE_ASSIGN(Document document, read_document(group));
      found.file = std::move(document.file);
    }
    auto attributes = attributes_beside(directory);
    if (!attributes.ok() && path.empty()) return std::move(attributes.error());
    if (!attributes.ok()) add(directory, path, found.file, std::move(attributes.error()));  // its arrays may be sound
    return enter_group(directory, path, attributes.ok() ? std::move(*attributes) : Json(), depth);
  }

 private:
  Status enter_group(const std::string& directory, const std::string& path, Json attributes, std::size_t depth) {
    if (std::vector<ImageLevel> levels = levels_of(attributes, path); !levels.empty())
      found.images.push_back({path, std::move(levels)});
    if (path.empty()) found.attributes = std::move(attributes);
    return enter_children(directory, path, depth);
  }

  Status enter_children(const std::string& directory, const std::string& path, std::size_t depth) {
    const auto here = FileSystem::of(directory).status(directory);
    if (!here.ok()) return here.error();
    const auto identity = std::make_pair(here->fingerprint.device, here->fingerprint.inode);
    if (std::ranges::find(inside_, identity) != inside_.end()) return {};  // a link to what it lies in
    // Links from each of n directories to the others are 2^n paths.
    if (++visits_[identity] > kMostVisits)
      return pass_over(directory, path, fmt::format("links lead to this directory more than {} times", kMostVisits));
    inside_.push_back(identity);
    Status status = list_children(directory, path, depth);
    inside_.pop_back();
    return status;
  }

  Status list_children(const std::string& directory, const std::string& path, std::size_t depth) {
    HEADRACE_ASSIGN(std::vector<std::string> names, FileSystem::of(directory).list(directory));
    std::ranges::sort(names);
    const bool is_group = is_file(join(directory, ".zgroup")) || is_file(join(directory, "zarr.json"));
    if (!is_group && std::ranges::any_of(names, [&](const std::string& name) { return is_chunk(directory, name); }))
      return pass_over(directory, path, "it has files of chunks, and no metadata (.zarray or zarr.json)");
    for (const std::string& name : names) {
      if (name.starts_with('.')) continue;
      const std::string child = join(directory, name);
      const auto status = FileSystem::of(child).status(child);
      if (!status.ok() || status->kind != PathKind::kDirectory) continue;
      HEADRACE_TRY(enter(child, path.empty() ? name : path + "/" + name, depth + 1));
    }
    return {};
  }

  Status add_v2(const std::string& directory, const std::string& path, const std::string& file) {
    HEADRACE_ASSIGN(Document document, read_document(file));
    Result<ArrayMetadata> metadata = document.json.ok() ? parse_v2_array(*document.json) : document.json.error();
    auto attributes = attributes_beside(directory);
    if (metadata.ok() && attributes.ok()) metadata->attributes = std::move(*attributes);
    if (metadata.ok() && !attributes.ok()) metadata = std::move(attributes.error());
    add(directory, path, std::move(document.file), std::move(metadata));
    return {};
  }

  Status enter_v3(const std::string& directory, const std::string& path, const std::string& file, std::size_t depth) {
    HEADRACE_ASSIGN(Document document, read_document(file));
    if (path.empty()) {
      found.version = 3;
      found.file = document.file;
    }
    const Result<bool> array = document.json.ok() ? is_array(*document.json) : document.json.error();
    if (!array.ok() && path.empty()) return array.error();
    if (!array.ok() || *array) {
      Result<ArrayMetadata> metadata = array.ok() ? parse_v3_array(*document.json) : array.error();
      add(directory, path, std::move(document.file), std::move(metadata));
      return {};
    }
    if (Status known = check_extensions(*document.json); !known.ok()) {
      if (path.empty()) return std::move(known.error().with_file(document.file->name()));
      add(directory, path, std::move(document.file), std::move(known.error()));
      return {};
    }
    return enter_group(directory, path, member(*document.json, "attributes"), depth);
  }

  /// An array, or else a group?
  static Result<bool> is_array(const Json& document) {
    const Json& format = member(document, "zarr_format");
    if (format.is_string())
      return Error(ErrorCode::kUnsupported, fmt::format("a draft of Zarr v3 ({}), from before its first "
                                                        "version",
                                                        format.get<std::string>()))
          .with_hint("Write it again by zarr-python 3.");
    if (format.is_null()) return Error(ErrorCode::kCorruptData, "the metadata has no 'zarr_format'");
    if (format != 3)
      return Error(ErrorCode::kUnsupported, fmt::format("zarr_format {} in a zarr.json, 3 is expected", shown(format)));
    const Json& kind = member(document, "node_type");
    if (kind == "array" || kind == "group") return kind == "array";
    return Error(ErrorCode::kCorruptData,
                 fmt::format("the node_type is {}, \"array\" or \"group\" is expected", shown(kind)));
  }

  /// The attributes of v2 lie in a file of their own; most nodes have one.
  static Result<Json> attributes_beside(const std::string& directory) {
    const std::string path = join(directory, ".zattrs");
    if (!is_file(path)) return Json();
    HEADRACE_ASSIGN(Document document, read_document(path));
    if (!document.json.ok()) return document.json.error();
    return std::move(*document.json);
  }

  void add(const std::string& directory, const std::string& path, std::shared_ptr<RandomAccessFile> file,
           Result<ArrayMetadata> metadata) {
    if (path.empty()) found.file = file;
    if (!metadata.ok() && metadata.error().file().empty()) metadata.error().with_file(file->name());
    // The array itself was opened: it is named as its directory is.
    const std::string name =
        path.empty() ? std::filesystem::path(FileSystem::of(directory).absolute(directory)).filename().string() : path;
    found.arrays.push_back({name, directory, std::move(file), std::move(metadata)});
  }

  /// Return true if a name in a directory without metadata is that of a chunk's file, or of the directory of such.
  static bool is_chunk(const std::string& directory, const std::string& name) {
    const std::string child = join(directory, name);
    if (name == "c") return is_chunk(child, "0") || is_file(child);
    const bool is_number = !name.empty() && name.find_first_not_of("0123456789.") == std::string::npos;
    return is_number && (is_file(child) || is_chunk(child, "0"));
  }

  /// Tell of a directory that is not entered.
  Status pass_over(const std::string& directory, const std::string& path, std::string why) {
    if (found.file != nullptr) add(directory, path, found.file, Error(ErrorCode::kUnsupported, std::move(why)));
    return {};
  }

  using Identity = std::pair<std::uint64_t, std::uint64_t>;  // device and inode
  std::vector<Identity> inside_;                             // directories that the walk is in
  std::map<Identity, std::size_t> visits_;
};

}  // namespace

bool is_store(const std::string& directory) {
  return is_file(join(directory, ".zgroup")) || is_file(join(directory, ".zarray")) ||
         is_file(join(directory, "zarr.json"));
}

Result<FoundStore> walk_store(const std::string& directory) {
  Walk walk;
  std::string root = directory;
  while (root.size() > 1 && root.ends_with('/')) root.pop_back();
  HEADRACE_TRY(walk.enter(root, "", 0));
  std::ranges::sort(walk.found.arrays, {}, &FoundArray::path);
  return std::move(walk.found);
}

std::string known_directory(const std::string& directory) {
  const std::string path = join(directory, "attributes.json");
  if (!is_file(path)) return {};
  const auto document = read_document(path);
  if (!document.ok() || !document->json.ok()) return {};
  const Json& json = *document->json;
  const bool array = member(json, "dimensions").is_array() && member(json, "blockSize").is_array();
  return member(json, "n5").is_null() && !array ? "" : array ? "an N5 array" : "an N5 container";
}

}  // namespace headrace::zarr
