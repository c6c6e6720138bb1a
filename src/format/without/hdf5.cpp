// In place of format/hdf5/ in a build without libhdf5 (HEADRACE_WITH_HDF5=OFF): HDF5 files are recognised, and refused.
#include <algorithm>
#include <array>

#include "format/hdf5/hdf5_reader.h"

namespace headrace::hdf5 {
namespace {

// HDF5 File Format Specification, "Disk Format: Level 0A": at 0, 512, 1024, 2048, …
constexpr std::array<unsigned char, 8> kSignature{0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

}  // namespace

Result<bool> is_hdf5(const RandomAccessFile& file) {
  std::array<unsigned char, kSignature.size()> found{};
  for (std::uint64_t at = 0; at <= file.size() && file.size() - at >= found.size(); at = at == 0 ? 512 : at * 2) {
    HEADRACE_TRY(file.read_at(at, std::as_writable_bytes(std::span(found))));
    if (found == kSignature) return true;
    if (at > (std::uint64_t{1} << 62)) break;
  }
  return false;
}

Result<std::shared_ptr<FormatReader>> open_hdf5(std::shared_ptr<RandomAccessFile> /*file*/,
                                                const std::string& /*path*/) {
  return Error(ErrorCode::kUnsupported, "an HDF5 file, and this build is without HDF5")
      .with_hint("Install libhdf5-dev and build with -DHEADRACE_WITH_HDF5=ON.");
}

std::string version_text() {
  return {};
}

}  // namespace headrace::hdf5
