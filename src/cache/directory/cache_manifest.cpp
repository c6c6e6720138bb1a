#include "cache/directory/cache_manifest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cache/directory/cache_match.h"
#include "cache/row_layout.h"
#include "format/npy/manifest_text.h"

namespace headrace {
namespace {

using Json = nlohmann::ordered_json;

std::string hex(std::uint32_t crc) {
  return fmt::format("{:08x}", crc);
}

Error damaged(std::string what) {
  return Error(ErrorCode::kCorruptData, std::move(what)).with_file(CacheManifest::kFileName).with_stage("cache");
}

std::string text_of(const CachedFile& file) {
  return fmt::format(R"("file": {}, "bytes": {}, "crc32c": {})", ManifestText::quoted(file.name), file.size_bytes,
                     ManifestText::quoted(hex(file.crc32c)));
}

/// Values of an object, where they have the type that is asked for; whatever has not makes `ok` false.
class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}
  bool ok = true;

  const Json& at(const char* key) {
    static const Json nothing;
    const auto it = json_.is_object() ? json_.find(key) : json_.end();
    if (!json_.is_object() || it == json_.end()) return ok = false, nothing;
    return *it;
  }
  std::uint64_t number(const char* key) { return number(at(key)); }
  std::uint64_t number(const Json& value) {
    if (!value.is_number_unsigned()) return ok = false, 0;
    return value.get<std::uint64_t>();
  }
  std::int64_t time(const char* key) {
    const Json& value = at(key);
    if (!value.is_number_integer()) return ok = false, 0;
    return value.get<std::int64_t>();
  }
  std::string text(const char* key) {
    const Json& value = at(key);
    if (!value.is_string()) return ok = false, std::string();
    return value.get<std::string>();
  }
  const Json& list(const char* key) {
    static const Json none = Json::array();
    const Json& value = at(key);
    if (!value.is_array()) return ok = false, none;
    return value;
  }

 private:
  const Json& json_;
};

std::optional<std::uint32_t> parse_hex(const std::string& text) {
  if (text.size() != 8 || text.find_first_not_of("0123456789abcdef") != std::string::npos) return std::nullopt;
  return static_cast<std::uint32_t>(std::stoul(text, nullptr, 16));
}

std::optional<DType> parse_dtype(const std::string& text) {
  constexpr std::string_view kLetters = "biufcS";
  if (text.size() < 3 || text.size() > 11 || text.find_first_not_of("0123456789", 2) != std::string::npos)
    return std::nullopt;
  const std::size_t kind = kLetters.find(text[1]);
  if (kind == std::string_view::npos) return std::nullopt;
  const unsigned long itemsize = std::stoul(text.substr(2));
  const DType dtype{static_cast<DType::Kind>(kind), static_cast<std::uint32_t>(itemsize)};
  if (dtype.itemsize != itemsize || dtype.numpy_typestr() != text) return std::nullopt;
  return dtype;
}

std::optional<CachedFile> parse_file(const Json& json) {
  Reader reader(json);
  CachedFile file{reader.text("file"), reader.number("bytes"), 0};
  const std::optional<std::uint32_t> crc = parse_hex(reader.text("crc32c"));
  if (!reader.ok || !crc || !is_plain_file_name(file.name)) return std::nullopt;
  file.crc32c = *crc;
  return file;
}

std::optional<StoredColumn> parse_field(const Json& json) {
  Reader reader(json);
  StoredColumn field{reader.text("name"), reader.text("path"), {}, {}};
  const std::optional<DType> dtype = parse_dtype(reader.text("dtype"));
  for (const Json& extent : reader.list("shape")) field.shape.push_back(reader.number(extent));
  if (!reader.ok || !dtype) return std::nullopt;
  field.dtype = *dtype;
  return field;
}

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace

// Written line by line: the objects of the JSON library take memory when they go, which ends the process where there is
// none left.
std::string CacheManifest::to_json() const {
  using Text = ManifestText;
  std::string out;
  const auto add = [&](std::string_view key, const std::string& value) {
    out += fmt::format("{} \"{}\": {}", out.empty() ? "{\n" : ",\n", key, value);
  };
  const auto list = [](const std::vector<std::string>& objects) {
    return objects.empty() ? "[]" : fmt::format("[\n  {{{}}}\n ]", fmt::join(objects, "},\n  {"));
  };
  add("format", Text::quoted(Text::kFormat));
  add("format_version", fmt::format("{}", Text::kFormatVersion));
  add("headrace", Text::quoted(HEADRACE_VERSION));
  add("created", Text::quoted(created.empty() ? now_text() : created));
  add("rows", fmt::format("{}", rows));
  std::vector<std::string> objects;
  for (std::size_t i = 0; i < layout.fields.size(); ++i) {
    const StoredColumn& field = layout.fields[i];
    objects.push_back(fmt::format(R"("name": {}, "path": {}, "dtype": {}, "shape": [{}], {})", Text::quoted(field.name),
                                  Text::quoted(field.path), Text::quoted(field.dtype.numpy_typestr()),
                                  fmt::join(field.shape, ", "), text_of(data[i])));
  }
  add("fields", list(objects));
  const std::string starts =
      blocks ? text_of(*blocks) : fmt::format("\"rows\": {}", uniform_block_rows(layout, sources).value_or(0));
  add("blocks", fmt::format("{{\"count\": {}, {}}}", num_blocks, starts));
  add("checksums", fmt::format("{{{}}}", text_of(checksums)));
  objects.clear();
  for (const CacheSource& source : sources)
    objects.push_back(fmt::format(
        R"("path": {}, "bytes": {}, "mtime_ns": {}, "ctime_ns": {}, "inode": {}, "entries": {}, "rows": {})",
        Text::quoted(source.path), source.fingerprint.size_bytes, source.fingerprint.mtime_ns,
        source.fingerprint.ctime_ns, source.fingerprint.inode, source.fingerprint.entries, source.rows));
  add("sources", list(objects));
  add("sample", Text::quoted(sample));
  return Text::sealed(std::move(out));
}

Result<CacheManifest> CacheManifest::parse(std::string_view text) {
  HEADRACE_ASSIGN(const Json json, ManifestText::read(text));
  Reader reader(json);
  CacheManifest manifest;
  manifest.created = reader.text("created");
  manifest.rows = reader.number("rows");
  if (json.contains("sample")) manifest.sample = reader.text("sample");
  for (const Json& entry : reader.list("fields")) {
    std::optional<StoredColumn> field = parse_field(entry);
    std::optional<CachedFile> file = parse_file(entry);
    if (!field || !file) return damaged("the entry of a field is invalid");
    manifest.layout.fields.push_back(std::move(*field));
    manifest.data.push_back(std::move(*file));
  }
  for (const Json& entry : reader.list("sources")) {
    Reader source(entry);
    CacheSource one{source.text("path"), {}, source.number("rows")};
    one.fingerprint.size_bytes = source.number("bytes");
    one.fingerprint.mtime_ns = source.time("mtime_ns");
    if (entry.contains("ctime_ns")) one.fingerprint.ctime_ns = source.time("ctime_ns");  // caches of other programs
    if (entry.contains("inode")) one.fingerprint.inode = source.number("inode");         // know less
    if (entry.contains("entries")) one.fingerprint.entries = source.number("entries");
    if (!source.ok) return damaged("the entry of a source file is invalid");
    manifest.sources.push_back(std::move(one));
  }
  const std::optional<CachedFile> checksums = parse_file(reader.at("checksums"));
  if (!checksums) return damaged("the entry of its checksum file is invalid");
  manifest.checksums = *checksums;

  Reader blocks(reader.at("blocks"));
  manifest.num_blocks = blocks.number("count");
  std::uint64_t table_bytes = 0;  // bounds the number of blocks before anything is made of it
  if (!blocks.ok || __builtin_mul_overflow(manifest.num_blocks, 4 * manifest.data.size(), &table_bytes) ||
      table_bytes > manifest.checksums.size_bytes)
    return damaged("the entry of its blocks is invalid");
  if (reader.at("blocks").contains("file")) {
    manifest.blocks = parse_file(reader.at("blocks"));
    if (!manifest.blocks) return damaged("the entry of its block file is invalid");
  } else {
    auto starts = uniform_block_starts(blocks.number("rows"), manifest.num_blocks, manifest.sources);
    if (!starts) return damaged("its blocks do not match its files");
    manifest.layout.block_starts = std::move(*starts);
    if (manifest.layout.rows() != manifest.rows) return damaged("its number of rows differs from that of its blocks");
    HEADRACE_TRY(check_row_layout(manifest.layout));
  }
  if (!reader.ok || !blocks.ok) return damaged("a required key is missing or has the wrong type");
  return manifest;
}

std::optional<std::vector<std::uint64_t>> uniform_block_starts(std::uint64_t block_rows, std::uint64_t num_blocks,
                                                               const std::vector<CacheSource>& sources) {
  std::uint64_t blocks = 0;
  for (const CacheSource& source : sources) {
    if (source.rows == 0) continue;
    if (block_rows == 0) return std::nullopt;
    blocks += (source.rows - 1) / block_rows + 1;
    if (blocks > num_blocks) return std::nullopt;
  }
  if (blocks != num_blocks) return std::nullopt;
  std::vector<std::uint64_t> starts{0};
  starts.reserve(num_blocks + 1);
  for (const CacheSource& source : sources) {
    const std::uint64_t first = starts.back();
    if (source.rows > (std::uint64_t{1} << 62) - std::min(first, std::uint64_t{1} << 62)) return std::nullopt;
    for (std::uint64_t row = 0; row < source.rows;) {
      row += std::min(block_rows, source.rows - row);
      starts.push_back(first + row);
    }
  }
  return starts;
}

std::optional<std::uint64_t> uniform_block_rows(const RowLayout& layout, const std::vector<CacheSource>& sources) {
  std::uint64_t longest = 0;
  for (std::uint64_t block = 0; block < layout.num_blocks(); ++block)
    longest = std::max(longest, layout.block_starts[block + 1] - layout.block_starts[block]);
  const auto starts = uniform_block_starts(longest, layout.num_blocks(), sources);
  if (!starts || *starts != layout.block_starts) return std::nullopt;
  return longest;
}

namespace {

/// As a manifest holds it: JSON is UTF-8, and other bytes are replaced in it.
std::string as_written(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}
std::string base_name(const CacheSource& source) {
  return std::filesystem::path(source.path).filename().string();
}

std::string names_of(const std::vector<StoredColumn>& fields) {
  std::string names;
  for (const StoredColumn& field : fields) names += (names.empty() ? "" : ", ") + field.name;
  return names;
}

}  // namespace

bool holds_fields(const CacheManifest& found, const RowLayout& layout) {
  const auto same = [](const StoredColumn& x, const StoredColumn& y) {
    return as_written(x.name) == as_written(y.name) && as_written(x.path) == as_written(y.path) && x.dtype == y.dtype &&
           x.shape == y.shape;
  };
  return std::ranges::equal(found.layout.fields, layout.fields, same);
}

std::optional<std::string> describe_difference(const CacheManifest& found, const CacheOrigin& origin,
                                               const RowLayout& layout) {
  const std::vector<CacheSource>&a = found.sources, &b = origin.sources;
  if (a.size() != b.size()) return fmt::format("made from {} files, not {}", a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (as_written(base_name(a[i])) != as_written(base_name(b[i])))
      return fmt::format("made from other files ({}, not {})", base_name(a[i]), base_name(b[i]));
    if (change_of(a[i], b[i].fingerprint) == FileChange::kChanged)
      return fmt::format("made from another version of {}: {}", base_name(b[i]), *change_text(a[i], b[i].fingerprint));
    if (a[i].rows != b[i].rows)
      return fmt::format("made from {} rows of {}, not {}", a[i].rows, base_name(b[i]), b[i].rows);
  }
  if (!holds_fields(found, layout)) return fmt::format("it holds other fields ({})", names_of(found.layout.fields));
  if (found.layout.block_starts != layout.block_starts) return "its blocks are other rows";
  return std::nullopt;
}

}  // namespace headrace
