// How libhdf5 writes our files: through a driver that never tells it of a failure, and that can hold metadata back, so
// that a file whose writer is killed can be written on.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "format/page_journal.h"

namespace headrace::hdf5 {

/// The file under libhdf5. libhdf5 1.10 cannot close a file whose writes fail (it crashes or loops when the program
/// exits), and names errno only inside a message. So a failure is kept here, and what comes after it goes into memory:
/// ask failure() after every step, then close the file as always and throw it away.
///
/// libhdf5 writes metadata in any order and at any time, so a file that is killed in the middle is damaged. While
/// metadata is held, it stays in memory (pages()), and only raw data reaches the file, where nothing points to it yet.
/// The owner brings both together: flush libhdf5, sync(), keep pages() in a journal, apply_pages(). After a kill, the
/// journal's pages put the file back into the state of the last flush.
class OutputFile {
 public:
  OutputFile() = default;
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Make an empty file, or open one that was left. Return 0, or errno.
  int create(const std::string& path);
  int reopen(const std::string& path);
  /// Return an access list for H5Fcreate or H5Fopen (the caller closes it); this object must outlive the HDF5 file.
  /// Negative on failure.
  hid_t access_list();
  /// Hold metadata back from now on: after libhdf5 has been told to flush what it has.
  void hold_metadata() { holding_ = true; }
  /// Return the first failure so far, as errno; 0 for none.
  [[nodiscard]] int failure() const { return failure_; }

  /// Return what is held back, as whole pages; bytes past size() do not count.
  [[nodiscard]] const FilePages& pages() const { return pages_; }
  /// Write what is held back to the file, or what was held when the journal was kept. Failures: see failure().
  void apply_pages();
  void restore(const FilePages& pages, std::uint64_t size);
  /// Wait until the file's bytes are on the disk. Failures: see failure().
  void sync();

  // For the driver. None fails. \param raw  Rows, not metadata.
  void write(std::uint64_t offset, const std::byte* data, std::size_t size, bool raw);
  void read(std::uint64_t offset, std::byte* data, std::size_t size) const;
  void truncate(std::uint64_t size);
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  int open(const std::string& path, int flags);
  void write_file(std::uint64_t offset, const std::byte* data, std::size_t size);
  void read_file(std::uint64_t offset, std::byte* data, std::size_t size) const;
  void hold(std::uint64_t offset, const std::byte* data, std::size_t size, bool make);

  int descriptor_ = -1;
  int failure_ = 0;
  bool holding_ = false;
  std::uint64_t size_ = 0;
  FilePages pages_;
};

}  // namespace headrace::hdf5
