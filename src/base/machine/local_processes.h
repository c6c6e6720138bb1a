// How many processes like this one a launcher started on this host: they divide its memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace headrace {

/// Return what a launcher put into the environment of this process; null if unset.
const char* launcher_variable(const char* name);

struct LocalProcesses {
  std::uint32_t count = 1;
  std::string reason;  ///< "LOCAL_WORLD_SIZE"; empty if no launcher says anything.
};

/// Count by LOCAL_WORLD_SIZE (torchrun), OMPI_COMM_WORLD_LOCAL_SIZE (Open MPI), MPI_LOCALNRANKS (MPICH, Intel MPI) or
/// SLURM_STEP_TASKS_PER_NODE (srun: "4", "4(x2),3"; this host's is number SLURM_NODEID). What cannot be read counts as
/// not there. \param variable  Looks an environment variable up; null if unset.
LocalProcesses count_local_processes(const std::function<const char*(const char*)>& variable);
/// Look in the environment of this process.
LocalProcesses count_local_processes();

}  // namespace headrace
