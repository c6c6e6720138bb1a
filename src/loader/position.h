// Where a loader is: what state() writes and load_state() reads.
#pragma once

#include <headrace/loader.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "dataset/facts/data_identity.h"

namespace headrace {

/// Last number that an epoch may have: the one after it has a number too.
constexpr std::uint64_t kLastEpoch = ~std::uint64_t{0} >> 1;

/// Samples handed out over all ranks; (e, all samples) is written as (e + 1, 0).
struct Position {
  std::uint64_t epoch = 0, samples = 0;
  friend bool operator==(const Position&, const Position&) = default;
};

/// A state as JSON says it. Constant in size; says nothing of ranks, threads or memory.
struct LoaderState {
  DataIdentity data;
  std::uint64_t rows = 0;
  std::string order;  ///< Sampler::identity().
  std::string steps;  ///< StepPlan::identity(); steps of a fixed number of samples have none.
  std::uint64_t seed = 0, global_batch = 0;
  Position position;

  [[nodiscard]] std::string json() const;
};

/// Errors: kInvalidArgument: not such a state, or of another version.
Result<LoaderState> parse_state(const std::string& json);

/// Check that `state` can go on with what `here` is. \param accept_changed_data  Other names, bytes or order of the
/// files will do. Errors: kInvalidArgument, naming the first thing that differs, and both its values where they say
/// anything.
Status check_state(const LoaderState& state, const LoaderState& here, bool accept_changed_data = false);

/// How shuffle=True mixes: what follows from the data and the global batch, unless a state brings it.
struct ShuffleOrder {
  bool exact = false;  ///< One permutation of all rows; else a block shuffle of that shape.
  ShuffleShape shape;
  friend bool operator==(const ShuffleOrder&, const ShuffleOrder&) = default;
};
/// Read "mix 64x4" → {64, 4}, and "exact"; nullopt for other orders, and for shapes that no loader would have.
std::optional<ShuffleOrder> shuffle_of(const std::string& order);
/// Read "tokens 100 deal lanes 4 …" → 4; 0 for steps of other kinds.
std::uint32_t lanes_of(const std::string& steps);

}  // namespace headrace
