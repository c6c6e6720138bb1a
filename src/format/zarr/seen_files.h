// Which files of an array's chunks were there when they were looked for.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace headrace::zarr {

/// A set of file numbers: a bit for each, in pages that are made when one of theirs is added. Threads: any.
class SeenFiles {
 public:
  /// \param count  Numbers are below it. Of arrays of more than 2^32 files none is remembered.
  explicit SeenFiles(std::uint64_t count) : pages_(count <= kMost ? (count + kPageBits - 1) / kPageBits : 0) {}
  ~SeenFiles() {
    for (const std::atomic<Page*>& page : pages_) delete page.load(std::memory_order_acquire);
  }
  SeenFiles(const SeenFiles&) = delete;
  SeenFiles& operator=(const SeenFiles&) = delete;

  void add(std::uint64_t number) {
    if (number / kPageBits >= pages_.size()) return;
    std::atomic<Page*>& place = pages_[number / kPageBits];
    Page* page = place.load(std::memory_order_acquire);
    if (page == nullptr) {
      auto made = std::make_unique<Page>();
      if (place.compare_exchange_strong(page, made.get(), std::memory_order_acq_rel)) page = made.release();
    }
    std::atomic<std::uint64_t>& word = (*page)[number % kPageBits / 64];
    const std::uint64_t bit = std::uint64_t{1} << number % 64;
    if ((word.load(std::memory_order_relaxed) & bit) == 0) word.fetch_or(bit, std::memory_order_relaxed);
  }
  [[nodiscard]] bool contains(std::uint64_t number) const {
    if (number / kPageBits >= pages_.size()) return false;
    const Page* const page = pages_[number / kPageBits].load(std::memory_order_acquire);
    return page != nullptr &&
           ((*page)[number % kPageBits / 64].load(std::memory_order_relaxed) >> number % 64 & 1) != 0;
  }

 private:
  static constexpr std::uint64_t kPageBits = 1 << 15, kMost = std::uint64_t{1} << 32;
  using Page = std::array<std::atomic<std::uint64_t>, kPageBits / 64>;
  std::vector<std::atomic<Page*>> pages_;
};

}  // namespace headrace::zarr
