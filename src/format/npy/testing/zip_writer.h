// Zip archives for tests, made by hand and by zlib.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace headrace::npy {

struct ZipInput {
  std::string name;
  std::vector<std::byte> bytes;
  bool deflated = false;
};

/// Return an archive of these members. \param zip64  Sizes and offsets of 64 bits, as NumPy's writer forces them.
std::vector<std::byte> write_zip(const std::vector<ZipInput>& members, bool zip64 = false);

}  // namespace headrace::npy
