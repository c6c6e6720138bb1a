#include "cache/npy_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

namespace headrace {
namespace {

constexpr std::size_t kMostNameBytes = 80;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

std::string lower(std::string text) {  // some file systems do not tell A from a
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

}  // namespace

std::string npy_header(const DType& dtype, std::span<const std::uint64_t> shape) {
  const std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                       dtype.numpy_typestr(), fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  constexpr std::size_t kBefore = 10;  // magic, version, length
  const std::size_t padded = (kBefore + text.size() + 1 + 63) / 64 * 64 - kBefore;
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(padded & 0xFF);
  header += static_cast<char>(padded >> 8);
  header += text;
  header.append(padded - text.size() - 1, ' ');
  return header + '\n';
}

std::string npy_header(const Field& field, std::uint64_t rows) {
  std::vector<std::uint64_t> shape{rows};
  shape.insert(shape.end(), field.shape.begin(), field.shape.end());
  return npy_header(field.dtype, shape);
}

std::vector<std::string> npy_file_names(const std::vector<Field>& fields) {
  std::set<std::string> taken{"crc32c", "blocks"};
  std::vector<std::string> names;
  for (const Field& field : fields) {
    std::string stem = field.name.substr(0, kMostNameBytes);
    for (char& c : stem)
      if (!is_plain(c)) c = '_';
    if (stem.empty()) stem = "field";
    std::string name = stem;
    for (int n = 2; !taken.insert(lower(name)).second; ++n) name = fmt::format("{}-{}", stem, n);
    names.push_back(name + ".npy");
  }
  return names;
}

}  // namespace headrace
