// What batches, and the threads that make them, take of a budget: the largest batch of an order, whatever its samples.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "loader/plan/engine_plan.h"

namespace headrace {

constexpr std::uint64_t kLeastSlots = 2;  // one being filled, one with the consumer

/// Batches share an arena: slots are counted by their mean, and the least that can work are the largest. Batches of
/// rows are all of one size.
struct WindowNeed {
  std::uint64_t largest_bytes = 0, mean_bytes = 0;  ///< Bytes of a batch.
  std::uint64_t bookkeeping_bytes = 0;              ///< Bytes of a slot beside them.
  /// Bytes of the states of blocks that wait for rows: of those of one slot, and of all that there can be.
  std::uint64_t states_bytes = 0, most_states_bytes = 0;
  std::uint64_t order_bytes = 0;  ///< Bytes of the order of the samples: pools, lists, chosen rows, an index of units.
  std::uint64_t staging_bytes = 0;
  std::uint64_t scratch_bytes = 0, read_buffer_bytes = 0;  ///< Bytes of a thread.
  std::string large_batch, smaller_batches;  ///< Why the largest batch is that large, where it is the data that make
                                             ///< it so, and what would be done about it.

  /// Return the bytes whatever the slots.
  [[nodiscard]] std::uint64_t fixed_bytes(std::uint64_t threads) const {
    return order_bytes + staging_bytes + threads * (scratch_bytes + read_buffer_bytes);
  }
  [[nodiscard]] std::uint64_t arena_bytes(std::uint64_t slots) const {
    return std::max(slots * mean_bytes, kLeastSlots * largest_bytes);
  }
  /// Return the bytes that keep count of so many slots and of what they wait for.
  [[nodiscard]] std::uint64_t index_bytes(std::uint64_t slots) const {
    return slots * bookkeeping_bytes + std::min(most_states_bytes, slots * states_bytes);
  }
  [[nodiscard]] std::uint64_t bytes_of(std::uint64_t slots) const { return arena_bytes(slots) + index_bytes(slots); }
  /// Return the slots that fit, no more than the `wanted` ones.
  [[nodiscard]] std::uint64_t slots_in(std::uint64_t bytes, std::uint64_t wanted) const {
    bytes -= std::min(bytes, kLeastSlots * (largest_bytes - mean_bytes));
    const std::uint64_t slot = mean_bytes + bookkeeping_bytes, few = bytes / (slot + states_bytes);
    const std::uint64_t many = bytes > most_states_bytes ? (bytes - most_states_bytes) / slot : 0;
    return std::clamp(std::max(few, many), kLeastSlots, std::max(wanted, kLeastSlots));
  }
};

/// Return what the batches of a plan take, after its order and layout.
WindowNeed window_need(const SampleSource& source, const LoaderOptions& options, const EnginePlan& plan);

/// Return the bytes of the buffers on the way to a device. Page-locked memory comes from torch, which rounds up to a
/// power of two. \param batch_bytes  That a buffer holds; more is needed where fields begin.
std::uint64_t staging_bytes(const LoaderOptions& options, std::uint64_t batch_bytes);

}  // namespace headrace
