#include "dataset/files/open_several.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/machine/cpu_count.h"
#include "base/threads/parallel.h"
#include "storage/read_waits.h"
#include "storage/storage_kind.h"

namespace headrace {
namespace {

constexpr std::uint32_t kMostWhereLate = 32, kMostWhereQuick = 4;  // threads
constexpr std::size_t kFilesEach = 4;                              // fewer are not worth a thread
constexpr std::size_t kMostAhead = 64;                             // files that are opened, and not taken yet

/// Threads that open files from the second one on.
class Openers {
 public:
  Openers(std::size_t num_files, const std::function<void(std::size_t)>& open)
      : num_files_(num_files), open_(open), opened_(num_files) {}
  Openers(const Openers&) = delete;
  Openers& operator=(const Openers&) = delete;
  ~Openers() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }

  /// Start threads. \return How many the system gives.
  std::size_t start(std::uint32_t threads) {
    while (threads_.size() < threads) {
      auto thread = start_thread("hr-open", [this](const std::stop_token&) { work(); });
      if (!thread.ok()) break;
      threads_.push_back(std::move(*thread));
    }
    return threads_.size();
  }
  /// Wait until a file is opened; all before it were taken.
  void wait(std::size_t file) {
    std::unique_lock lock(mutex_);
    taken_ = file;
    changed_.notify_all();
    changed_.wait(lock, [&] { return opened_[file]; });
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return stopped_ || next_ == num_files_ || next_ < taken_ + kMostAhead; });
      if (stopped_ || next_ == num_files_) return;
      const std::size_t file = next_++;
      lock.unlock();
      open_(file);
      lock.lock();
      opened_[file] = true;
      changed_.notify_all();
    }
  }

  const std::size_t num_files_;
  const std::function<void(std::size_t)>& open_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> opened_;
  std::size_t next_ = 1, taken_ = 1;
  bool stopped_ = false;
  std::vector<std::jthread> threads_;  // joined first
};

}  // namespace

std::uint32_t files_opened_at_once(std::size_t num_files, const std::string& first) {
  if (files_answer_late() || storage_of(first).shared())
    return static_cast<std::uint32_t>(std::min<std::size_t>(num_files, kMostWhereLate));
  const auto processors = static_cast<std::uint32_t>(std::max(usable_cpu_count(), 1));
  const std::size_t wanted = std::min<std::size_t>(num_files / kFilesEach, std::min(processors, kMostWhereQuick));
  return static_cast<std::uint32_t>(std::max<std::size_t>(wanted, 1));
}

Status open_in_order(std::size_t num_files, const std::string& first, const std::function<void(std::size_t)>& open,
                     const std::function<Status(std::size_t)>& take) {
  if (num_files == 0) return {};
  open(0);
  HEADRACE_TRY(take(0));
  const std::uint32_t threads = num_files == 1 ? 1 : files_opened_at_once(num_files - 1, first);
  Openers openers(num_files, open);
  const bool has_threads = threads > 1 && openers.start(threads) > 0;
  for (std::size_t i = 1; i < num_files; ++i) {
    if (has_threads)
      openers.wait(i);
    else
      open(i);
    HEADRACE_TRY(take(i));
  }
  return {};
}

}  // namespace headrace
