// How well a plan's order mixes, in Deff (order/quality.h), and what it holds for that.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "loader/plan/engine_plan.h"

namespace headrace {

/// Deff of an order for labels that are constant in a block, which is the worst case, and in a file.
struct Mixing {
  double block_effect = 1, file_effect = 1;
  std::uint64_t mixed_bytes = 0;  ///< Decoded bytes of the blocks that are mixed at any time.
};

/// Return what the plan's batches of all ranks have; nullopt for orders that are no shuffle of the data as it is: file
/// order, samplers, groups, mixtures, drawn patches, steps of like lengths. Looks at a part of an epoch's order,
/// without data: some 10 ms.
std::optional<Mixing> measure_mixing(const EnginePlan& plan, std::uint64_t sample_bytes);

/// Return what a block shuffle's blocks will give, in closed form (block_shuffle_shape.cpp).
double planned_block_effect(const BlockShuffleShape& shape, std::uint64_t blocks, std::uint64_t global_batch);

/// Return a sentence for a default shuffle that mixes less than independent draws would; empty: it does not.
std::string mixing_warning(const BlockShuffleShape& shape, const BlockTable& blocks, std::uint64_t global_batch,
                           std::uint64_t sample_bytes);

/// Return "Deff 2.2 for a label that is constant in each block, 0.40 in each file (1: as independent draws); …".
std::string mixing_summary(const Mixing& mixing);

/// Remembers the mixing of the newest plan. Threads: any.
class MixingMemo {
 public:
  /// Return the mixing of `plan`, measured now unless it was before.
  std::optional<Mixing> of(const std::shared_ptr<const EnginePlan>& plan, std::uint64_t sample_bytes);

 private:
  std::mutex mutex_;
  std::weak_ptr<const EnginePlan> measured_;
  std::optional<Mixing> mixing_;
};

}  // namespace headrace
