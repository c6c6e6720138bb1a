#include "tools/inspect/inspected_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/number_text.h"
#include "catalog/packing.h"
#include "format/format_reader.h"
#include "tools/inspect/array_description.h"

namespace headrace {
namespace {

std::string row_shape(const ArrayInfo& array) {
  return array.shape.empty() ? "()" : shape_text({array.shape.begin() + 1, array.shape.end()});
}

/// "dtype float32 and not float64" for every property that differs.
void compare(const ArrayInfo& first, const ArrayInfo& other, std::vector<std::string>& out) {
  const ArrayDescription a = describe_array(first), b = describe_array(other);
  const auto add = [&](std::string_view what, const std::string& here, const std::string& there) {
    if (here != there) out.push_back(fmt::format("{}: {} {}, in the first file {}", other.path, what, here, there));
  };
  add("type", b.type, a.type);
  add("shape of a row", row_shape(other), row_shape(first));
  const bool parts = !first.chunk_ends.empty() && !other.chunk_ends.empty();  // row groups are never alike
  if (first.layout != other.layout || (!parts && first.chunk_shape != other.chunk_shape))
    add("layout", b.chunk,
        other.layout == first.layout && a.chunk == b.chunk ? shape_text(first.chunk_shape) : a.chunk);
  add("filters", other.codec_text(), first.codec_text());
  add("read path", other.read_path_name(), first.read_path_name());
}

Json attributes_json(const Attributes& attributes) {
  Json json = Json::object();
  for (const auto& [name, value] : attributes.values) {
    Json& to = json[name];
    std::visit([&to](const auto& v) { to = v; }, value);
  }
  return json;
}

Json to_json(const ArrayInfo& array) {
  const ArrayDescription described = describe_array(array);
  Json json;
  json["path"] = array.path;
  json["shape"] = array.shape;
  json["dtype"] = described.type;
  if (array.is_record) {
    Json& columns = json["columns"] = Json::array();
    for (const Column& c : array.columns)
      columns.push_back(
          {{"name", c.name}, {"dtype", c.dtype.name()}, {"shape", c.inner_shape}, {"offset_bytes", c.offset}});
  }
  json["row_bytes"] = described.row_bytes;
  json["layout"] = layout_name(array.layout);
  if (array.layout == Layout::kChunked) {
    json["chunk_shape"] = array.chunk_shape;
    json["chunk_decoded_bytes"] = described.chunk_bytes;
    json["chunks"] = described.chunks;
    json["chunks_across_row"] = described.chunks_across;
  }
  json["codec"] = array.codec_text();
  Json& filters = json["filters"] = Json::array();
  for (const FilterInfo& f : array.filters) filters.push_back({{"name", f.name}, {"setting", f.setting}});
  json["stored_bytes"] = array.stored_bytes;
  json["decoded_bytes"] = described.decoded_bytes;
  json["ratio"] = described.ratio > 0 ? Json(described.ratio) : Json(nullptr);
  json["random_row_decodes_bytes"] = described.random_row_bytes;
  json["read_path"] = array.read_path_name();
  if (!array.reason.empty()) json["reason"] = array.reason;
  json["care"] = described.care;
  if (array.voxel)
    json["voxel"] = {{"size", array.voxel->size}, {"origin", array.voxel->origin}, {"unit", array.voxel->unit()}};
  if (array.voxel && array.voxel->unit().empty()) json["voxel"]["units"] = array.voxel->units;
  for (const NamedAxis& axis : array.named_axes) json["axes"].push_back(axis.name);
  if (!array.attributes.values.empty()) json["attributes"] = attributes_json(array.attributes);
  if (!array.attributes.left_out.empty()) json["attributes_left_out"] = array.attributes.left_out;
  if (!array.notice.empty()) json["notice"] = array.notice;
  for (const LeftOut& member : array.left_out) json["members_left_out"][member.path] = member.reason;
  if (const auto packing = packing_of(array.attributes)) json["unpack"] = unpacking_text(array.path, *packing);
  return json;
}

/// Say what only the files of its chunks tell.
void count_chunk_files(const ArrayReader& reader, ArrayInfo& array, InspectedFile& file) {
  const auto files = reader.chunk_files();
  if (!files.ok() || !*files) return;
  array.stored_bytes = (*files)->bytes;
  const std::uint64_t absent = (*files)->all - (*files)->there;
  file.lacks_chunks = file.lacks_chunks || absent > 0;
  if (absent > 0 && (*files)->there > 0) {
    array.notice = fmt::format("{} of its {} chunk files {} not there, never written or lost, and {} the fill value",
                               group_digits(absent), group_digits((*files)->all), absent == 1 ? "is" : "are",
                               absent == 1 ? "holds" : "hold");
  }
}

}  // namespace

bool is_bad_file(ErrorCode code) {
  return code == ErrorCode::kCorruptData || code == ErrorCode::kUnsupported || code == ErrorCode::kReadFailed ||
         code == ErrorCode::kFileChanged;
}

InspectedFile inspect_file(const std::string& path) {
  InspectedFile file;
  file.path = path;
  auto reader = open_file(path);
  if (!reader.ok()) {
    file.error = reader.error().with_file(path);
    return file;
  }
  file.format = (*reader)->format_name();
  file.size_bytes = (*reader)->file().size();
  file.arrays = (*reader)->arrays();
  for (ArrayInfo& array : file.arrays) {
    if (array.read_path != ReadPath::kUnsupported && array.stored_bytes > 0) continue;
    const auto opened = (*reader)->open_array(array.path);
    if (opened.ok()) {
      count_chunk_files(**opened, array, file);
      file.size_bytes += array.stored_bytes;
    } else {
      array.read_path = ReadPath::kUnsupported;
      if (array.reason.empty()) array.reason = opened.error().message();
      if (!opened.error().hint().empty()) file.remedies[array.path] = opened.error().hint();
    }
  }
  return file;
}

std::vector<std::string> differences(const InspectedFile& first, const InspectedFile& file) {
  std::vector<std::string> out;
  const auto find = [](const InspectedFile& in, const std::string& path) {
    return std::find_if(in.arrays.begin(), in.arrays.end(), [&](const ArrayInfo& a) { return a.path == path; });
  };
  for (const ArrayInfo& array : first.arrays) {
    const auto other = find(file, array.path);
    if (other == file.arrays.end()) {
      out.push_back(array.path + ": not in this file");
    } else {
      compare(array, *other, out);
    }
  }
  for (const ArrayInfo& array : file.arrays)
    if (find(first, array.path) == first.arrays.end()) out.push_back(array.path + ": not in the first file");
  return out;
}

Json to_json(const InspectedFile& file) {
  Json json;
  json["path"] = file.path;
  if (file.error) {
    json["error"] = error_json(*file.error);
    return json;
  }
  json["format"] = file.format;
  json["size_bytes"] = file.size_bytes;
  Json& arrays = json["arrays"] = Json::array();
  for (const ArrayInfo& array : file.arrays) {
    arrays.push_back(to_json(array));
    if (const auto remedy = file.remedies.find(array.path); remedy != file.remedies.end())
      arrays.back()["hint"] = remedy->second;
  }
  const FileDescription described = describe_arrays(file.arrays, file.remedies);
  json["fast"] = described.fast;
  json["care"] = described.care;
  json["refused"] = described.refused;
  json["differences"] = file.differences;
  return json;
}

}  // namespace headrace
