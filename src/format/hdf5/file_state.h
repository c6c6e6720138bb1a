// What the readers of one file share, and the words for what goes wrong with it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "format/hdf5/recording_driver.h"
#include "format/hdf5/structure/object_header.h"
#include "format/hdf5/structure/superblock.h"

namespace headrace::hdf5 {

/// A file and, while a user needs libhdf5 for it, its handle there: an open file costs libhdf5 0.5 MB.
struct FileState : std::enable_shared_from_this<FileState> {
  std::shared_ptr<DriverState> driver = std::make_shared<DriverState>();
  Id file;  ///< Open while more users came than went. Touched under a LibraryLock only.
  Superblock superblock;
  std::string path;
  std::string directory;  ///< Canonical, where outside files may lie; empty: nowhere.

  FileState() = default;
  FileState(const FileState&) = delete;
  FileState& operator=(const FileState&) = delete;
  ~FileState() {
    if (!file.ok()) return;
    const LibraryLock library;
    file.reset();
  }
  /// Become a user of `file`, which is opened if there is none. Errors: of open_with_library().
  Status use_library(const LibraryLock& library);
  /// Become a user of `file`, which is open.
  void share_library(const LibraryLock&) { ++users_; }
  /// Be a user no longer; the last one closes the file.
  void leave_library(const LibraryLock&) {
    if (--users_ == 0) file.reset();
  }

 private:
  int users_ = 0;
};

/// Return "HDF5 (superblock 0)".
std::string format_name_of(const FileState& state);

/// Open `state.file` (whose superblock has been read) with libhdf5.
/// Errors: kUnsupported (newer than the library, being written), kCorruptData, and those of reading.
Status open_with_library(const LibraryLock&, FileState& state);

/// Return why libhdf5 could not do what it was just asked: the failed read if there was one, kUnsupported for what a
/// newer HDF5 has written, else kCorruptData with its innermost message. \param what  "open the dataset", … \param
/// header  Of the object in question, whose message versions are then named.
Error library_failure(const LibraryLock&, FileState& state, const std::string& what,
                      const std::vector<HeaderMessage>& header = {});

}  // namespace headrace::hdf5
