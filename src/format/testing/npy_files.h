// .npy files of one axis, as np.save writes them.
#pragma once

#include <cstdint>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

namespace headrace::testing {

/// Write little-endian values.
template <class Value>
void write_npy(const std::string& path, const std::vector<Value>& values) {
  std::string header = "{'descr': '<i" + std::to_string(sizeof(Value)) + "', 'fortran_order': False, 'shape': (" +
                       std::to_string(values.size()) + ",), }";
  header.resize(117, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file.write("\x93NUMPY\x01\x00\x76\x00", 10);
  file << header;
  file.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(Value)));
}

/// Write the values first, first + 1, …
template <class Value>
void write_npy(const std::string& path, std::uint64_t rows, Value first) {
  std::vector<Value> values(rows);
  std::iota(values.begin(), values.end(), first);
  write_npy(path, values);
}

}  // namespace headrace::testing
