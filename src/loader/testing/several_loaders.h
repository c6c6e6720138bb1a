// What tests of several loaders in one budget share.
#pragma once

#include <headrace/loader.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "base/memory/memory_budget.h"
#include "dataset/testing/fake_source.h"
#include "dataset/testing/mapped_data.h"

namespace headrace::testing {

inline std::shared_ptr<FakeFaults> slow(std::chrono::microseconds delay) {
  auto faults = std::make_shared<FakeFaults>();
  faults->delay = delay;
  return faults;
}

/// What a batch is and where it stands.
struct Placed {
  std::uint64_t epoch, index;
  Copy content;
  friend bool operator==(const Placed&, const Placed&) = default;
};

/// \param between  Called after each batch.
template <class Between>
std::vector<Placed> delivered(Loader& loader, int epochs, Between between) {
  std::vector<Placed> all;
  for (int e = 0; e < epochs; ++e)
    for (const Batch& batch : loader) {
      all.push_back({batch.epoch(), batch.index(), copy_of(batch)});
      between();
    }
  return all;
}

/// Asks all loaders of the process for memory, again and again, at random moments.
class Asking {
 public:
  explicit Asking(std::uint64_t seed)
      : thread_([this, seed](const std::stop_token& stop) {
          for (std::uint64_t n = seed * 977; !stop.stop_requested(); ++n) {
            const std::uint64_t r = n * 0x9E3779B97F4A7C15u >> 20;
            given_ += MemoryBudget::process()->reclaim(r % 7 == 0 ? ~std::uint64_t{0} : r % 200'000) > 0;
            std::this_thread::sleep_for(std::chrono::microseconds(r % 500));
          }
        }) {}
  [[nodiscard]] std::uint64_t given() const { return given_; }

 private:
  std::atomic<std::uint64_t> given_{0};
  std::jthread thread_;
};

/// The process may use so much while it lives.
class ProcessMemory {
 public:
  explicit ProcessMemory(std::uint64_t bytes) { set_process_memory(bytes).value(); }
  ~ProcessMemory() { set_process_memory(before_).value(); }
  ProcessMemory(const ProcessMemory&) = delete;
  ProcessMemory& operator=(const ProcessMemory&) = delete;

 private:
  const std::uint64_t before_ = process_memory_wanted();
};

/// 6.4 MB of rows, of which a batch has 128 KB.
inline Dataset large_rows(std::uint64_t files, std::chrono::microseconds delay = {}) {
  return fake_dataset(std::vector<std::uint64_t>(files, 400), {{1000, 40}}, slow(delay));
}
inline constexpr std::uint64_t kSmallMemory = 4'000'000;
/// Two batches of it are most of the small memory.
inline const LoaderOptions kLargeBatches{.batch = Samples{400}, .order = BlockShuffle{}, .threads = 1};

}  // namespace headrace::testing
