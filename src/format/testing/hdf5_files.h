// Small HDF5 files for the tests of the tools, written by libhdf5.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "base/testing/temporary_folder.h"

namespace headrace::testing {

/// A file being written. Anything that fails shows in the test that reads it.
class Hdf5Writer {
 public:
  explicit Hdf5Writer(const std::string& path)
      : file_(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)) {}
  ~Hdf5Writer() { H5Fclose(file_); }
  Hdf5Writer(const Hdf5Writer&) = delete;
  Hdf5Writer& operator=(const Hdf5Writer&) = delete;

  struct Array {
    std::vector<hsize_t> shape;
    std::vector<hsize_t> chunk = {};  ///< Empty: contiguous.
    unsigned gzip = 0;                ///< Level; 0: none.
    bool fletcher32 = false;
    bool converted = false;  ///< 24 bits in each number: libhdf5 has to convert them.
    bool unwritten = false;  ///< No value is written: fill values.
  };
  /// int32 values 0, 1, 2, …
  void write(const char* name, const Array& array) const {
    const hid_t space = H5Screate_simple(static_cast<int>(array.shape.size()), array.shape.data(), nullptr);
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    if (!array.chunk.empty()) H5Pset_chunk(properties, static_cast<int>(array.chunk.size()), array.chunk.data());
    if (array.gzip > 0) H5Pset_deflate(properties, array.gzip);
    if (array.fletcher32) H5Pset_fletcher32(properties);
    const hid_t type = H5Tcopy(H5T_STD_I32LE);
    if (array.converted) H5Tset_precision(type, 24);
    const hid_t dataset = H5Dcreate2(file_, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    if (!array.unwritten) {
      std::vector<std::int32_t> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int32_t>(i);
      H5Dwrite(dataset, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    }
    H5Dclose(dataset);
    H5Tclose(type);
    H5Pclose(properties);
    H5Sclose(space);
  }

 private:
  hid_t file_;
};

/// Where the chunk that starts at `row` lies. \return {offset, size} in bytes.
inline std::pair<std::uint64_t, std::uint64_t> chunk_place(const std::string& path, const char* name, hsize_t row,
                                                           std::size_t rank) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
  std::vector<hsize_t> start(rank, 0);
  start[0] = row;
  unsigned mask = 0;
  haddr_t address = 0;
  hsize_t size = 0;
  H5Dget_chunk_info_by_coord(dataset, start.data(), &mask, &address, &size);
  H5Dclose(dataset);
  H5Fclose(file);
  return {address, size};
}

/// Flip all bits of one byte.
inline void flip_byte(const std::string& path, std::uint64_t offset) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(static_cast<char>(~byte));
}

}  // namespace headrace::testing
