// Reads arbitrary bytes as all the JSON of a Zarr store: groups, arrays, attributes, images at several voxel sizes. The
// input: u8 kind, then documents with zero bytes between them. Kinds 0 and 1 are stores of version 2 (.zgroup, .zattrs,
// a/.zarray, a/.zattrs, .zmetadata) and 3 (zarr.json, a/zarr.json, b/zarr.json); an empty document is no file. Kind 2
// is attributes, of a group and of an array, which a store of each version has and both readers have to find the same.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/testing/temporary_folder.h"
#include "format/zarr/json.h"
#include "format/zarr/multiscales.h"
#include "format/zarr/zarr_reader.h"

namespace headrace::zarr {
namespace {

void expect(bool holds) {
  if (!holds) std::abort();
}

/// A folder of stores whose documents are replaced for each input.
class Stores {
 public:
  Stores() {
    for (const char* const node : {"v2/a", "v2/a/b", "v3/a", "v3/b"})
      std::filesystem::create_directories(folder_.path(node));
  }
  [[nodiscard]] std::string path(const std::string& store) const { return folder_.path(store); }
  /// Write a document; none where its text is empty.
  void put(const std::string& file, const std::string& text) {
    std::string& there = written_[file];
    if (there == text) return;  // most mutations are of one document
    there = text;
    std::error_code ignored;
    if (text.empty())
      std::filesystem::remove(folder_.path(file), ignored);
    else
      std::ofstream(folder_.path(file), std::ios::binary | std::ios::trunc) << text;
  }

 private:
  const TemporaryFolder folder_;
  std::map<std::string, std::string> written_;
};

/// Sizes and axes fit the array, and an array is found by the sizes that it says.
void check_voxels(const FormatReader& store, const ArrayInfo& info) {
  expect(info.named_axes.empty() || info.named_axes.size() == info.shape.size());
  for (const NamedAxis& axis : info.named_axes) expect(!axis.name.empty());
  if (!info.voxel) return;
  const Voxel& voxel = *info.voxel;
  expect(voxel.size.size() == info.shape.size() && voxel.origin.size() == voxel.size.size());
  expect(voxel.units.size() == voxel.size.size());
  std::string name = info.path;
  for (std::size_t a = 0; a < voxel.size.size(); ++a) {
    expect(voxel.size[a] > 0 && std::isfinite(voxel.size[a]) && std::isfinite(voxel.origin[a]));
    name += fmt::format("{}{}", a == 0 ? '@' : 'x', voxel.size[a]);
  }
  (void)voxel.text();
  const auto split = split_sized_name(name);
  expect(split && split->path == info.path && split->size == voxel.size && has_size(voxel, split->size));
  const auto by_path = store.open_array(info.path), by_size = store.open_array(name);
  expect(by_path.ok() == by_size.ok() && (!by_size.ok() || (*by_size)->info().path == info.path));
}

Result<std::shared_ptr<FormatReader>> read_store(const std::string& path) {
  auto store = open_store(path);
  if (!store.ok()) return store;
  for (const ArrayInfo& info : (*store)->arrays()) {
    check_voxels(**store, info);
    const auto array = (*store)->open_array(info.path);
    if (array.ok()) expect((*array)->info().shape == info.shape && info.read_path != ReadPath::kUnsupported);
  }
  return store;
}

/// A document is the same after it was written, and with its texts of no number as the bare words that Python writes.
void check_json(const std::string& text) {
  const auto json = parse_json(std::as_bytes(std::span(text)));
  if (!json.ok()) return;
  (void)shown(*json);
  std::string written = json->dump();
  const auto again = parse_json(std::as_bytes(std::span(written)));
  expect(again.ok() && *again == *json);
  for (const std::string_view word : {":\"NaN\"", ":\"Infinity\"", ":\"-Infinity\""})
    for (std::size_t at = 0; (at = written.find(word, at)) != std::string::npos;)
      written.replace(at, word.size(), fmt::format(":{}", word.substr(2, word.size() - 3)));
  const auto bare = parse_json(std::as_bytes(std::span(written)));
  expect(bare.ok() && *bare == *json);
}

void compare_versions(Stores& stores, const std::string& group, const std::string& array) {
  constexpr std::ptrdiff_t kMostBrackets = 250;  // attributes of v3 lie in documents, whose depth is limited as well
  for (const std::string& text : {group, array})
    if (!parse_json(std::as_bytes(std::span(text))).ok() ||
        std::ranges::count_if(text, [](char c) { return c == '[' || c == '{'; }) > kMostBrackets)
      return;
  stores.put("v2/.zgroup", R"({"zarr_format": 2})");
  stores.put("v2/.zattrs", group);
  stores.put("v2/a/.zarray", R"({"zarr_format": 2, "shape": [8, 6, 4], "chunks": [4, 6, 4], "dtype": "<u2",
                                 "compressor": null, "filters": null, "fill_value": 0, "order": "C"})");
  stores.put("v2/a/.zattrs", array);
  stores.put("v3/zarr.json", R"({"zarr_format": 3, "node_type": "group", "attributes": )" + group + "}");
  stores.put("v3/a/zarr.json", R"({"zarr_format": 3, "node_type": "array", "shape": [8, 6, 4], "data_type": "uint16",
      "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 6, 4]}}, "fill_value": 0,
      "chunk_key_encoding": {"name": "default"},
      "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "attributes": )" +
                                   array + "}");
  stores.put("v3/b/zarr.json", "");
  const auto two = read_store(stores.path("v2")), three = read_store(stores.path("v3"));
  expect(two.ok() && three.ok());
  expect((*two)->attributes().values == (*three)->attributes().values);
  expect((*two)->attributes().left_out == (*three)->attributes().left_out);
  const auto &a = (*two)->arrays(), &b = (*three)->arrays();
  expect(a.size() == 1 && b.size() == 1);
  expect(a[0].attributes.values == b[0].attributes.values);
  expect(a[0].voxel.has_value() == b[0].voxel.has_value() && a[0].named_axes.size() == b[0].named_axes.size());
  if (a[0].voxel)
    expect(a[0].voxel->size == b[0].voxel->size && a[0].voxel->origin == b[0].voxel->origin &&
           a[0].voxel->units == b[0].voxel->units);
}

void read_input(std::uint8_t kind, const std::string& input) {
  static Stores stores;
  std::vector<std::string> documents;
  for (std::size_t at = 0; at <= input.size() && documents.size() < 5;) {
    const std::size_t end = std::min(input.find('\0', at), input.size());
    documents.push_back(input.substr(at, end - at));
    at = end + 1;
  }
  for (const std::string& document : documents) check_json(document);
  documents.resize(5);
  if (kind % 3 == 2) return compare_versions(stores, documents[0], documents[1]);
  const bool is_two = kind % 3 == 0;
  const std::vector<std::string> two{".zgroup", ".zattrs", "a/.zarray", "a/.zattrs", ".zmetadata"},
      three{"zarr.json", "a/zarr.json", "b/zarr.json"};
  const std::string store = is_two ? "v2" : "v3";
  for (std::size_t i = 0; i < (is_two ? two : three).size(); ++i)
    stores.put(store + "/" + (is_two ? two : three)[i], documents[i]);
  (void)read_store(stores.path(store));
}

}  // namespace
}  // namespace headrace::zarr

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 0) headrace::zarr::read_input(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
