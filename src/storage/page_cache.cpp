#include "storage/page_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>

#include "storage/file_calls.h"
#include "storage/fingerprint.h"
#include "storage/read_waits.h"
#include "storage/storage_kind.h"

namespace headrace {
namespace {

constexpr std::uint64_t kWaitedNs = 300'000;  // of a read that was made before: it is not kept, or was lost by chance

struct Devices {
  std::mutex mutex;
  std::map<std::uint64_t, bool> kept;
  std::atomic<bool> some_are_not{false};
};
Devices& devices() {
  static Devices& of_process = *new Devices;  // files may outlive static destruction
  return of_process;
}

/// Read the same bytes again and again. \return False if all reads but the first waited too.
bool are_kept(const std::string& path) {
  const FileCalls& calls = FileCalls::system();
  const int fd = calls.open(path.c_str());
  if (fd < 0) return true;
  std::array<std::byte, 4096> bytes{};
  bool kept = false;
  for (int i = 0; i < 3 && !kept; ++i) {
    const WaitsHere waits;
    bool failed = false;
    {
      const TimedFileCall timed;
      failed = calls.pread(fd, bytes.data(), bytes.size(), 0) <= 0;
    }
    kept = failed || (i > 0 && waits.waited_ns() < kWaitedNs);
  }
  calls.close(fd);
  return kept;
}

}  // namespace

bool keeps_pages(std::uint64_t device) {
  Devices& all = devices();
  if (!all.some_are_not.load(std::memory_order_relaxed)) return true;
  const std::lock_guard lock(all.mutex);
  const auto at = all.kept.find(device);
  return at == all.kept.end() || at->second;
}

bool learn_whether_pages_are_kept(const std::string& path) {
  struct stat status {};
  if (FileCalls::system().stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return true;
  const std::uint64_t device = fingerprint_of(status).device;
  {
    const std::lock_guard lock(devices().mutex);
    if (const auto at = devices().kept.find(device); at != devices().kept.end()) return at->second;
  }
  const bool kept = !storage_of(path).shared() || are_kept(path);
  note_whether_pages_are_kept(device, kept);
  return kept;
}

void note_whether_pages_are_kept(std::uint64_t device, bool kept) {
  Devices& all = devices();
  const std::lock_guard lock(all.mutex);
  all.kept[device] = kept;
  all.some_are_not = false;
  for (const auto& [other, its] : all.kept)
    if (!its) all.some_are_not = true;
}

}  // namespace headrace
