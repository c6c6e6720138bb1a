// What the tests of this layer share: small HDF5 files written through libhdf5, and arrays read whole through a reader.
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

#include "base/testing/temporary_folder.h"
#include "format/format_reader.h"
#include "format/hdf5/library_lock.h"
#include "format/testing/read_rows.h"

namespace headrace::hdf5 {

using Shape = std::vector<hsize_t>;

inline Id chunks_of(const Shape& chunk) {
  Id list(H5Pcreate(H5P_DATASET_CREATE));
  if (!chunk.empty()) {
    EXPECT_GE(H5Pset_chunk(list.get(), static_cast<int>(chunk.size()), chunk.data()), 0);
  }
  return list;
}

/// Return a type of numbers that libhdf5 converts. \param bytes  Of a stored one.
inline Id odd_integer(hid_t like, std::size_t bits, std::size_t bytes, std::size_t offset = 0) {
  Id type(H5Tcopy(like));
  EXPECT_GE(H5Tset_precision(type.get(), bits), 0);
  EXPECT_GE(H5Tset_offset(type.get(), offset), 0);
  EXPECT_GE(H5Tset_size(type.get(), bytes), 0);
  return type;
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

using testing_format::read_rows;

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
