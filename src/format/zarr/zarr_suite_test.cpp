// The suite of every format, for Zarr stores. Chunks are written out here, uncompressed, in every order.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "base/checksum/crc32c.h"
#include "base/testing/temporary_folder.h"
#include "format/testing/format_suite.h"

namespace headrace::zarr {
namespace {

using testing_format::FormatCase;
using testing_format::OpenedArray;
using StoredBytes = std::vector<std::byte>;
using Extents = std::vector<std::uint64_t>;

/// An array of numbers: element i of C order is i + 1, so that no one is the fill value 0.
struct TestArray {
  Extents shape, chunk;
  std::size_t width = 4;
  bool big_endian = false;
  std::vector<std::size_t> order = {};  // as stored, slowest first; empty: C
  std::function<bool(const Extents&)> written = [](const Extents&) { return true; };
};

std::uint64_t product(const Extents& extents) {
  std::uint64_t n = 1;
  for (const std::uint64_t e : extents) n *= e;
  return n;
}

Extents place_in(std::uint64_t number, const Extents& extents) {
  Extents at(extents.size());
  for (std::size_t d = extents.size(); d-- > 0; number /= extents[d]) at[d] = number % extents[d];
  return at;
}

Extents grid_of(const Extents& shape, const Extents& chunk) {
  Extents grid(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) grid[d] = (shape[d] + chunk[d] - 1) / chunk[d];
  return grid;
}

/// The value of an element; 0 past the array's end, and where its chunk was not written.
std::uint64_t value_at(const TestArray& array, const Extents& at) {
  Extents chunk(at.size());
  std::uint64_t number = 0;
  for (std::size_t d = 0; d < at.size(); ++d) {
    if (at[d] >= array.shape[d]) return 0;
    number = number * array.shape[d] + at[d];
    chunk[d] = at[d] / array.chunk[d];
  }
  return array.written(chunk) ? number + 1 : 0;
}

void append(StoredBytes& out, std::uint64_t value, std::size_t width, bool big_endian) {
  for (std::size_t i = 0; i < width; ++i)
    out.push_back(static_cast<std::byte>(value >> 8 * (big_endian ? width - 1 - i : i)));
}

StoredBytes chunk_bytes(const TestArray& array, const Extents& chunk) {
  std::vector<std::size_t> order = array.order;
  for (std::size_t d = 0; order.size() < chunk.size(); ++d) order.push_back(d);
  Extents stored;
  for (const std::size_t axis : order) stored.push_back(array.chunk[axis]);
  StoredBytes out;
  for (std::uint64_t i = 0; i < product(array.chunk); ++i) {
    const Extents place = place_in(i, stored);
    Extents at(chunk.size());
    for (std::size_t k = 0; k < order.size(); ++k) at[order[k]] = chunk[order[k]] * array.chunk[order[k]] + place[k];
    append(out, value_at(array, at), array.width, array.big_endian);
  }
  return out;
}

void write_file(const std::string& path, const StoredBytes& bytes, const TemporaryFolder& folder) {
  const std::string whole = folder.path() + "/x.zarr/" + path;
  std::filesystem::create_directories(std::filesystem::path(whole).parent_path());
  (void)folder.write("x.zarr/" + path, bytes);
}

std::string list(const auto& numbers) {
  std::string text = "[";
  for (const auto n : numbers) text += (text.size() > 1 ? "," : "") + std::to_string(n);
  return text + "]";
}

std::string key(const Extents& chunk, const std::string& separator) {
  std::string text;
  for (const std::uint64_t n : chunk) text += (text.empty() ? "" : separator) + std::to_string(n);
  return text;
}

FormatCase case_of(const std::shared_ptr<TemporaryFolder>& folder, const TestArray& array) {
  FormatCase made;
  StoredBytes dense;
  for (std::uint64_t i = 0; i < product(array.shape); ++i)
    append(dense, value_at(array, place_in(i, array.shape)), array.width, false);
  made.columns = {std::move(dense)};
  made.holder = folder;
  const std::string path = folder->path() + "/x.zarr";
  made.open = [path]() -> OpenedArray {
    HEADRACE_ASSIGN(const std::shared_ptr<FormatReader> reader, headrace::open_file(path));
    return reader->open_array("a/b");
  };
  return made;
}

FormatCase v2(const TestArray& array, const std::string& separator) {
  const auto folder = std::make_shared<TemporaryFolder>();
  std::filesystem::create_directories(folder->path() + "/x.zarr/a/b");
  (void)folder->write_text("x.zarr/.zgroup", R"({"zarr_format": 2})");
  (void)folder->write_text("x.zarr/a/.zgroup", R"({"zarr_format": 2})");
  (void)folder->write_text("x.zarr/a/b/.zarray", R"({"zarr_format": 2, "shape": )" + list(array.shape) +
                                                     R"(, "chunks": )" + list(array.chunk) + R"(, "dtype": ")" +
                                                     (array.big_endian ? ">u" : "<u") + std::to_string(array.width) +
                                                     R"(", "order": ")" + (array.order.empty() ? "C" : "F") +
                                                     R"(", "compressor": null, "filters": null, "fill_value": 0, )" +
                                                     R"("dimension_separator": ")" + separator + "\"}");
  const Extents grid = grid_of(array.shape, array.chunk);
  for (std::uint64_t i = 0; i < product(grid); ++i)
    if (const Extents chunk = place_in(i, grid); array.written(chunk))
      write_file("a/b/" + key(chunk, separator), chunk_bytes(array, chunk), *folder);
  return case_of(folder, array);
}

/// With shards, whose index lies at the start or the end, in the order of `array`'s axes where it is theirs.
FormatCase v3(const TestArray& array, const Extents& per_shard, bool index_at_start) {
  const auto folder = std::make_shared<TemporaryFolder>();
  std::filesystem::create_directories(folder->path() + "/x.zarr/a/b");
  const std::string group = R"({"zarr_format": 3, "node_type": "group"})";
  (void)folder->write_text("x.zarr/zarr.json", group);
  (void)folder->write_text("x.zarr/a/zarr.json", group);
  Extents shard(array.chunk), outer_chunk;
  for (std::size_t d = 0; d < shard.size(); ++d) shard[d] *= per_shard[d];
  // The transposition lies before the shards, which are then numbered in its order.
  std::vector<std::size_t> order = array.order;
  for (std::size_t d = 0; order.size() < shard.size(); ++d) order.push_back(d);
  for (const std::size_t axis : order) outer_chunk.push_back(array.chunk[axis]);
  (void)folder->write_text(
      "x.zarr/a/b/zarr.json",
      R"({"zarr_format": 3, "node_type": "array", "data_type": "uint)" + std::to_string(8 * array.width) +
          R"(", "shape": )" + list(array.shape) + R"(, "fill_value": 0, "attributes": {}, "chunk_grid": {"name": )" +
          R"("regular", "configuration": {"chunk_shape": )" + list(shard) + R"(}}, "chunk_key_encoding": {"name": )" +
          R"("default", "configuration": {"separator": "/"}}, "codecs": [{"name": "transpose", "configuration": )" +
          R"({"order": )" + list(order) + R"(}}, {"name": "sharding_indexed", "configuration": {"chunk_shape": )" +
          list(outer_chunk) + R"(, "codecs": [{"name": "bytes", "configuration": {"endian": ")" +
          (array.big_endian ? "big" : "little") + R"("}}, {"name": "crc32c"}], "index_codecs": [{"name": "bytes", )" +
          R"("configuration": {"endian": "little"}}, {"name": "crc32c"}], "index_location": ")" +
          (index_at_start ? "start" : "end") + R"("}}]})");
  Extents stored_per;
  for (const std::size_t axis : order) stored_per.push_back(per_shard[axis]);
  const Extents grid = grid_of(array.shape, shard), chunks = grid_of(array.shape, array.chunk);
  for (std::uint64_t s = 0; s < product(grid); ++s) {
    const Extents at = place_in(s, grid);
    StoredBytes body, index;
    const std::uint64_t before = index_at_start ? product(per_shard) * 16 + 4 : 0;
    for (std::uint64_t i = 0; i < product(per_shard); ++i) {
      const Extents inner = place_in(i, stored_per);
      Extents chunk(at.size());
      for (std::size_t k = 0; k < order.size(); ++k) chunk[order[k]] = at[order[k]] * per_shard[order[k]] + inner[k];
      bool there = array.written(chunk);
      for (std::size_t d = 0; d < chunk.size(); ++d) there = there && chunk[d] < chunks[d];
      append(index, there ? before + body.size() : ~std::uint64_t{0}, 8, false);
      StoredBytes bytes = there ? chunk_bytes(array, chunk) : StoredBytes();
      if (there) append(bytes, crc32c(bytes), 4, false);
      append(index, there ? bytes.size() : ~std::uint64_t{0}, 8, false);
      body.insert(body.end(), bytes.begin(), bytes.end());
    }
    append(index, crc32c(index), 4, false);
    StoredBytes file = index_at_start ? index : body;
    file.insert(file.end(), (index_at_start ? body : index).begin(), (index_at_start ? body : index).end());
    write_file("a/b/c/" + key(at, "/"), file, *folder);
  }
  return case_of(folder, array);
}

bool not_every_third(const Extents& chunk) {
  std::uint64_t sum = 0;
  for (const std::uint64_t n : chunk) sum += n;
  return sum % 3 != 1;
}

const bool registered = [] {
  const auto add = [](const std::string& name, std::function<FormatCase()> make) {
    testing_format::register_format_reader_tests("Zarr", name, std::move(make));
  };
  add("Plain", [] { return v2({{23, 3}, {5, 3}}, "."); });
  add("OneAxis", [] { return v2({{23}, {5}, 8}, "/"); });
  add("EdgesOfThreeAxes", [] { return v2({{7, 5, 6}, {3, 2, 4}, 2}, "/"); });
  add("FOrderBigEndian", [] { return v2({{7, 5, 6}, {3, 2, 4}, 8, true, {2, 1, 0}}, "."); });
  add("NotAllWritten", [] { return v2({{7, 5, 6}, {3, 2, 4}, 4, false, {}, not_every_third}, "."); });
  add("Shards", [] { return v3({{7, 5, 6}, {2, 2, 2}}, {2, 1, 2}, false); });
  add("ShardsIndexFirstHoles", [] {
    return v3({{7, 5, 6}, {2, 2, 2}, 2, true, {}, not_every_third}, {2, 2, 2}, true);
  });
  add("ShardsTransposed", [] { return v3({{7, 5, 6}, {1, 2, 3}, 4, false, {1, 2, 0}}, {2, 1, 2}, false); });
  return true;
}();

}  // namespace
}  // namespace headrace::zarr
