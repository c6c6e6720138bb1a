// BatchMemory: where batches lie, from the window to the consumer and back.
#pragma once

#include <headrace/batch.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "assembly/window/window_slot.h"

namespace headrace {

/// A column that is made from the plan, not read.
struct DerivedColumn {
  std::shared_ptr<void> memory;
  std::uint64_t rows = 0;                   ///< Usually as many as the batch has samples.
  std::optional<std::uint64_t> width = {};  ///< Rows of each sample, of a column as wide as those that are filled up.
};

/// Return the rows of each array of a batch, Batch::Parts::array_rows; empty where all have as many as there are
/// samples. \param fields  Arrays before the derived ones; those of dense fields.
inline std::vector<std::uint64_t> array_rows_of(std::size_t fields, std::uint64_t rows,
                                                std::span<const DerivedColumn> derived) {
  std::vector<std::uint64_t> out;
  if (std::all_of(derived.begin(), derived.end(), [&](const DerivedColumn& c) { return c.rows == rows; })) return out;
  out.assign(fields, rows);
  for (const DerivedColumn& column : derived) out.push_back(column.rows);
  return out;
}

/// Threads: any.
class BatchMemory : public SlotAllocator {
 public:
  /// Turn a filled slot into a batch. `memory` must come from acquire(). \param content  What was planned for it.
  /// \param derived  The derived columns.
  virtual Batch deliver(std::unique_ptr<SlotMemory> memory, const StepContent& content, std::uint64_t rows,
                        std::uint64_t epoch, std::uint64_t index, std::vector<DerivedColumn> derived) = 0;
  /// Set what is called, on any thread, after room() may have turned true. Empty to stop.
  virtual void set_release_callback(std::function<void()> callback) = 0;
  /// Hold at most `slots` from now on, in the window and with the consumer, no more than there were at first: what is
  /// free beyond that is freed now, the rest as it comes back. After close(): nothing.
  virtual void limit_slots(std::uint64_t slots) = 0;
  /// Free what is not held, and everything else as it comes back.
  virtual void close() = 0;

  struct Usage {
    std::uint64_t allocated_bytes = 0;  ///< All memory, wherever it is.
    std::uint64_t peak_bytes = 0;       ///< Highest, without what the consumer held beyond two batches.
    std::uint64_t held_over_bytes = 0, peak_held_over_bytes = 0;
    std::uint64_t held_batches = 0;  ///< Largest number of buffers of one field with the consumer.
  };
  [[nodiscard]] virtual Usage usage() const = 0;
};

}  // namespace headrace
