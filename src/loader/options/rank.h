// Which data-parallel rank this process is, as its launcher says.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/machine/local_processes.h"
#include "base/result.h"
#include "order/sampler.h"

namespace headrace {

struct RankChoice {
  RankShare share = {};
  std::string reason;  ///< "RANK and WORLD_SIZE (torchrun)".
};

/// Check that the rank is one of so many. Errors: kInvalidArgument.
Status check_rank(std::uint32_t rank, std::uint32_t world_size);

/// Return `rank` and `world_size` if both are given, else what torchrun (RANK, WORLD_SIZE), srun (SLURM_PROCID,
/// SLURM_STEP_NUM_TASKS), Open MPI, MPICH or Intel MPI put into the environment, else rank 0 of 1. srun's are read
/// inside a step only: a batch script itself is one process, though its job may have many tasks. \param variable  Looks
/// an environment variable up; null if unset. Errors: kInvalidArgument: those of check_rank(), and variables that are
/// no numbers.
Result<RankChoice> choose_rank(std::optional<std::uint32_t> rank, std::optional<std::uint32_t> world_size,
                               const std::function<const char*(const char*)>& variable);
/// Return the rank that the launcher's environment gives; none without a launcher, or where its variables make no
/// sense, which the caller that makes a loader is told.
std::optional<std::uint32_t> launcher_rank();

}  // namespace headrace
