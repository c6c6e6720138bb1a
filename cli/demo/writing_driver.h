// How libhdf5 writes our files: through a driver that never tells it of a failure.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace headrace::demo {

/// The file under libhdf5. libhdf5 1.10 cannot close a file whose writes fail (it crashes or loops when the program
/// exits), and names errno only inside a message. So a failure is kept here, and what comes after it goes into memory:
/// ask error() after every step, then close the file as always and throw it away.
class OutputFile {
 public:
  OutputFile() = default;
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Makes an empty file. Errors: kPermission, kNotFound, kWriteFailed.
  Status open(const std::string& path);
  /// An access list for H5Fcreate (the caller closes it); this object must outlive the HDF5 file. Negative on failure.
  hid_t access_list();
  /// The first failure so far, as errno; 0 for none.
  [[nodiscard]] int failure() const { return failure_; }

  // For the driver. Neither fails.
  void write(std::uint64_t offset, const std::byte* data, std::size_t size);
  void read(std::uint64_t offset, std::byte* data, std::size_t size) const;
  void truncate(std::uint64_t size);
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  int descriptor_ = -1;
  int failure_ = 0;
  std::uint64_t size_ = 0;
  std::vector<std::pair<std::uint64_t, std::vector<std::byte>>> unwritten_;  // since the failure, in order
};

/// "`doing` failed: No space left on device", with the code and the hint that belong to this errno.
Error write_error(const std::string& file, const char* doing, int number);

}  // namespace headrace::demo
