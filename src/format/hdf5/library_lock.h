// Everything that touches libhdf5 goes through here: one lock for the process, quiet errors, owned ids.
//
// libhdf5 is serial at best (its thread-safe build holds one lock around every call) and unsafe at worst (the other
// builds), so Headrace takes a lock of its own first. Functions that call the library ask for a `const LibraryLock&`:
// proof that the caller holds the lock. The hot path, which is reading and decoding chunks, never does.
#pragma once

#include <hdf5.h>

#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/threads/fork_safe_mutex.h"

namespace headrace::hdf5 {

/// Hold libhdf5 alone, with its error printing off and its plug-in search closed; both are put back at the end, because
/// the library may be shared with other users in the process (Debian's h5py).
/// Plug-ins: a filter plug-in is a shared object that a file can ask for by number, so none is loaded unless the
/// environment says HEADRACE_HDF5_PLUGINS=1.
/// Threads: any. Blocks: until no other thread is in libhdf5. A thread that holds it may take it again, which costs
/// nothing: what owns ids is also destroyed while errors unwind below the lock.
/// Fork: fork() waits for it, so a child finds the library in a consistent state.
class LibraryLock {
 public:
  LibraryLock();
  ~LibraryLock();
  LibraryLock(const LibraryLock&) = delete;
  LibraryLock& operator=(const LibraryLock&) = delete;

 private:
  std::unique_lock<ForkSafeMutex> lock_;
  H5E_auto2_t printer_ = nullptr;
  void* printer_data_ = nullptr;
  unsigned plugins_ = 0;
};

/// Return true if HEADRACE_HDF5_PLUGINS=1.
bool plugins_allowed();

/// An owned libhdf5 id. Destroy, move or reset it only while a LibraryLock is held.
class Id {
 public:
  Id() = default;
  explicit Id(hid_t id) : id_(id) {}
  Id(Id&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
  Id& operator=(Id&& other) noexcept {
    if (this != &other) {
      reset();
      id_ = std::exchange(other.id_, -1);
    }
    return *this;
  }
  Id(const Id&) = delete;
  Id& operator=(const Id&) = delete;
  ~Id() { reset(); }

  [[nodiscard]] bool ok() const { return id_ >= 0; }
  [[nodiscard]] hid_t get() const { return id_; }
  void reset();

 private:
  hid_t id_ = -1;
};

/// What libhdf5 said of the call that has just failed, innermost first.
struct LibraryError {
  struct Frame {
    std::string function, message;
  };
  std::vector<Frame> frames;

  /// Return the innermost message with its function: "bad version number for layout message (H5O__layout_decode)".
  [[nodiscard]] std::string text() const;
  /// Return true if any message contains `words`.
  [[nodiscard]] bool mentions(std::string_view words) const;
};
LibraryError last_library_error(const LibraryLock&);

/// Return the version of the library this process runs with, for example "1.10.8".
std::string library_version(const LibraryLock&);

}  // namespace headrace::hdf5
