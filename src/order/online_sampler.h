// OnlineRows: row numbers that a sampler feeds during the epoch, because it learns from the batches.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "order/sampler.h"

namespace headrace {

/// The rows of one epoch, as far as they were given. Threads: any.
class OnlineRows {
 public:
  /// Forget everything: no sample is known.
  void end();
  /// Forget everything; rows of `epoch` follow, the first of them sample `position`.
  void begin(std::uint64_t epoch, std::uint64_t position);
  void append(std::span<const std::uint64_t> rows);
  /// Return true if all samples of `epoch` before `end` are there.
  [[nodiscard]] bool is_settled(std::uint64_t epoch, std::uint64_t end) const;
  /// Return a row's number; 0 where it is not known (any more): what is planned then is dropped.
  [[nodiscard]] std::uint64_t row(std::uint64_t position) const;

 private:
  mutable std::mutex mutex_;
  std::uint64_t epoch_ = 0, first_ = 0;
  bool begun_ = false;
  std::vector<std::uint64_t> rows_;
};

/// \param num_samples  An epoch.
std::unique_ptr<Sampler> make_online(std::shared_ptr<const BlockTable> blocks, std::shared_ptr<const OnlineRows> rows,
                                     std::uint64_t num_samples);

}  // namespace headrace
