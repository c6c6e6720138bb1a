#include "format/hdf5/library_lock.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace headrace::hdf5 {
namespace {

std::atomic<bool> close_failed = false;
thread_local unsigned depth = 0;  // locks that this thread has taken one inside the other

/// libhdf5 closes at exit what is still open. An object whose closing failed stays in its tables although it was freed,
/// so that it would be closed once more, and the process crash (1.10.8 in H5F__close_cb, after a damaged file). It is
/// told to leave the exit to us, which spares it that; others in the process that left files open have them closed as
/// ever.
void take_over_exit() {
  if (H5dont_atexit() < 0) return;  // other code has used the library before
  std::atexit([] {
    if (!close_failed) H5close();
  });
}

ForkSafeMutex& library_mutex() {
  // Never destroyed: threads may still be closing files while the process exits.
  static ForkSafeMutex& mutex = *[] {
    take_over_exit();  // before the first call, which registers libhdf5's own
    return new ForkSafeMutex;
  }();
  return mutex;
}

herr_t collect(unsigned, const H5E_error2_t* frame, void* into) {
  try {
    static_cast<LibraryError*>(into)->frames.push_back(
        {frame->func_name ? frame->func_name : "", frame->desc ? frame->desc : ""});
  } catch (...) {  // out of memory must not unwind through C
    return -1;
  }
  return 0;
}

}  // namespace

bool plugins_allowed() {
  const char* set = std::getenv("HEADRACE_HDF5_PLUGINS");
  return set != nullptr && std::strcmp(set, "1") == 0;
}

LibraryLock::LibraryLock() {
  if (depth++ > 0) return;
  lock_ = std::unique_lock(library_mutex());
  H5Eget_auto2(H5E_DEFAULT, &printer_, &printer_data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5PLget_loading_state(&plugins_);
  if (plugins_ != 0 && !plugins_allowed()) H5PLset_loading_state(0);
}

LibraryLock::~LibraryLock() {
  if (--depth > 0) return;
  if (plugins_ != 0) H5PLset_loading_state(plugins_);
  H5Eclear2(H5E_DEFAULT);
  H5Eset_auto2(H5E_DEFAULT, printer_, printer_data_);
}

void Id::reset() {
  if (id_ >= 0 && H5Idec_ref(id_) < 0) close_failed = true;
  id_ = -1;
}

std::string LibraryError::text() const {
  for (const Frame& f : frames)
    if (!f.message.empty()) return fmt::format("{} ({})", f.message, f.function);
  return "no message";
}

bool LibraryError::mentions(std::string_view words) const {
  for (const Frame& f : frames)
    if (f.message.find(words) != std::string::npos) return true;
  return false;
}

LibraryError last_library_error(const LibraryLock&) {
  LibraryError error;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, collect, &error);
  return error;
}

std::string library_version(const LibraryLock&) {
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return fmt::format("{}.{}.{}", major, minor, release);
}

}  // namespace headrace::hdf5
