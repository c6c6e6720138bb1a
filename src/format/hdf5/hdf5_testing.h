// What the tests of this floor share: small HDF5 files written through libhdf5, and arrays read whole through a reader.
// Tests call libhdf5 from one thread, while no reader is at work.
#pragma once

#include <gtest/gtest.h>
#include <hdf5.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "format/format_reader.h"
#include "format/hdf5/session.h"
#include "storage/testing/temporary_file.h"

namespace headrace::hdf5 {

using Shape = std::vector<hsize_t>;

inline Id chunks_of(const Shape& chunk) {
  Id list(H5Pcreate(H5P_DATASET_CREATE));
  if (!chunk.empty()) {
    EXPECT_GE(H5Pset_chunk(list.get(), static_cast<int>(chunk.size()), chunk.data()), 0);
  }
  return list;
}

/// A new file; closed by the destructor.
class NewFile {
 public:
  explicit NewFile(const std::string& path, hsize_t user_block = 0, H5F_libver_t low = H5F_LIBVER_EARLIEST)
      : path_(path) {
    const Id creation(H5Pcreate(H5P_FILE_CREATE)), access(H5Pcreate(H5P_FILE_ACCESS));
    H5Pset_userblock(creation.get(), user_block);
    H5Pset_libver_bounds(access.get(), low, H5F_LIBVER_LATEST);
    id_ = Id(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()));
    EXPECT_TRUE(id_.ok());
  }
  [[nodiscard]] hid_t id() const { return id_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }

  /// Make a dataset, and write `data` if it is not null. \param max  Empty: the shape is fixed.
  Id add(const std::string& name, hid_t type, const Shape& shape, const void* data, hid_t list = H5P_DEFAULT,
         const Shape& max = {}, hid_t memory_type = -1) {
    const Id space(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), max.empty() ? nullptr : max.data()));
    const Id links(H5Pcreate(H5P_LINK_CREATE));
    H5Pset_create_intermediate_group(links.get(), 1);
    Id dataset(H5Dcreate2(id_.get(), name.c_str(), type, space.get(), links.get(), list, H5P_DEFAULT));
    EXPECT_TRUE(dataset.ok()) << name;
    if (data != nullptr) {
      EXPECT_GE(H5Dwrite(dataset.get(), memory_type < 0 ? type : memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), 0);
    }
    return dataset;
  }

 private:
  std::string path_;
  Id id_;
};

template <class T>
std::vector<T> counted(
    std::size_t n, std::function<T(std::size_t)> value = [](std::size_t i) { return T(i); }) {
  std::vector<T> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = value(i);
  return out;
}

inline std::shared_ptr<FormatReader> must_open(const std::string& path) {
  auto reader = open_file(path);
  EXPECT_TRUE(reader.ok()) << reader.error().what();
  return reader.ok() ? *reader : nullptr;
}

inline std::shared_ptr<ArrayReader> must_open_array(const FormatReader& file, const std::string& name) {
  auto array = file.open_array(name);
  EXPECT_TRUE(array.ok()) << array.error().what();
  return array.ok() ? *array : nullptr;
}

/// Copy one row of one column as its geometry says.
inline void copy_row(const RowGeometry& g, std::byte* to, const std::byte* from, std::size_t loop = 0) {
  if (loop == 0) to += g.dst_offset_bytes, from += g.src_offset_bytes;
  if (loop == g.loops.size()) {
    if (g.run_bytes > 0) std::memcpy(to, from, g.run_bytes);
    return;
  }
  const RowGeometry::Loop& l = g.loops[loop];
  for (std::size_t i = 0; i < l.count; ++i) {
    RowGeometry inner = g;
    inner.dst_offset_bytes = inner.src_offset_bytes = 0;
    inner.loops.erase(inner.loops.begin(), inner.loops.begin() + static_cast<std::ptrdiff_t>(loop) + 1);
    copy_row(inner, to + i * l.dst_stride_bytes, from + i * l.src_stride_bytes);
  }
}

/// Rows of a column, dense. Every piece is read, decoded with scratch of exactly the needed size, and copied.
inline Result<std::vector<std::byte>> read_rows(const ArrayReader& array, RowRange rows, std::size_t column = 0) {
  const ArrayInfo& info = array.info();
  const Column& c = info.columns.at(column);
  std::uint64_t row_bytes = c.dtype.itemsize;
  for (const std::uint64_t n : c.inner_shape) row_bytes *= n;
  for (std::size_t d = 1; d < info.shape.size(); ++d) row_bytes *= info.shape[d];
  std::vector<std::byte> out(rows.count * row_bytes, std::byte{0xAB});
  std::vector<Piece> pieces;
  HEADRACE_TRY(array.locate(rows, pieces));
  for (const Piece& piece : pieces) {
    const ScratchNeed need = array.scratch_need(piece.rows.count);
    std::vector<std::byte> a(need.out_bytes), b(need.filter_bytes), d(need.filter_bytes),
        stored(piece.stored.range.size);
    if (!stored.empty()) HEADRACE_TRY(piece.stored.file->read_at(piece.stored.range.offset, stored));
    HEADRACE_ASSIGN(const DecodedPiece decoded, array.decode(piece, stored, {a, b, d}));
    const RowGeometry g = array.geometry(piece.across, column);
    for (std::uint64_t r = std::max(rows.first, piece.rows.first); r < std::min(rows.end(), piece.rows.end()); ++r)
      copy_row(g, out.data() + (r - rows.first) * row_bytes,
               decoded.data + (r - piece.rows.first) * decoded.row_stride_bytes);
  }
  return out;
}

template <class T>
std::vector<T> values_of(const ArrayReader& array, std::size_t column = 0) {
  auto bytes = read_rows(array, {0, array.info().rows()}, column);
  EXPECT_TRUE(bytes.ok()) << bytes.error().what();
  if (!bytes.ok()) return {};
  std::vector<T> out(bytes->size() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), bytes->data(), bytes->size());
  return out;
}

/// All values of an array of a file.
template <class T>
std::vector<T> values_of(const std::string& path, const std::string& name, std::size_t column = 0) {
  const auto file = must_open(path);
  if (file == nullptr) return {};
  const auto array = must_open_array(*file, name);
  return array == nullptr ? std::vector<T>{} : values_of<T>(*array, column);
}

inline std::vector<std::byte> bytes_of_file(const std::string& path) {
  std::vector<std::byte> bytes(std::filesystem::file_size(path));
  std::FILE* f = std::fopen(path.c_str(), "rb");
  EXPECT_EQ(std::fread(bytes.data(), 1, bytes.size(), f), bytes.size());
  std::fclose(f);
  return bytes;
}

}  // namespace headrace::hdf5
