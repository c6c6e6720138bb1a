#include "storage/touched_files.h"

#include <fmt/format.h>

#include <atomic>
#include <mutex>

#include "base/threads/fork_safe_mutex.h"

namespace headrace {
namespace {

constexpr std::size_t kMost = 1000;

struct Touched {
  ForkSafeMutex mutex;
  std::vector<TouchedFile> files;
  std::atomic<std::uint64_t> count{0};
};

Touched& touched() {
  static Touched& one = *new Touched;  // never destroyed: files may outlive static objects
  return one;
}

}  // namespace

void note_touched(const std::string& name, const std::string& change) {
  Touched& all = touched();
  const std::lock_guard lock(all.mutex);
  if (all.files.size() >= kMost) return;
  all.files.push_back({name, fmt::format("{}: {}. It is read on: if its bytes are others, open the data set again. "
                                         "Others that are touched are not named.",
                                         name, change)});
  all.count.store(all.files.size(), std::memory_order_release);
}

std::uint64_t num_touched() {
  return touched().count.load(std::memory_order_acquire);
}

std::vector<TouchedFile> touched_since(std::uint64_t first) {
  Touched& all = touched();
  const std::lock_guard lock(all.mutex);
  if (first >= all.files.size()) return {};
  return {all.files.begin() + static_cast<std::ptrdiff_t>(first), all.files.end()};
}

}  // namespace headrace
