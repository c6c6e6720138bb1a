#include "base/machine/local_processes.h"

#include <gtest/gtest.h>

#include <map>

namespace headrace {
namespace {

std::uint32_t count(const std::map<std::string, std::string>& environment) {
  return count_local_processes([&](const char* name) -> const char* {
           const auto it = environment.find(name);
           return it == environment.end() ? nullptr : it->second.c_str();
         })
      .count;
}

TEST(LocalProcesses, AreWhatTheLauncherSays) {
  EXPECT_EQ(count({}), 1u);
  EXPECT_EQ(count({{"LOCAL_WORLD_SIZE", "4"}}), 4u);
  EXPECT_EQ(count({{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}), 2u);
  EXPECT_EQ(count({{"MPI_LOCALNRANKS", "8"}}), 8u);
}

TEST(LocalProcesses, OfSlurmAreThoseOfThisNode) {
  EXPECT_EQ(count({{"SLURM_STEP_TASKS_PER_NODE", "4"}}), 4u);
  const std::string mixed = "4(x2),3,1(x2)";
  const std::uint32_t expected[] = {4, 4, 3, 1, 1};
  for (std::uint32_t node = 0; node < 5; ++node)
    EXPECT_EQ(count({{"SLURM_STEP_TASKS_PER_NODE", mixed}, {"SLURM_NODEID", std::to_string(node)}}), expected[node]);
  EXPECT_EQ(count({{"SLURM_STEP_TASKS_PER_NODE", mixed}, {"SLURM_NODEID", "5"}}), 1u);
}

TEST(LocalProcesses, NonsenseIsIgnored) {
  for (const char* text : {"", "0", "-1", "four", "4x", "99999999999999"})
    EXPECT_EQ(count({{"LOCAL_WORLD_SIZE", text}}), 1u) << text;
  for (const char* text : {"", "x", "4(", "4(x", "4(x2", "(x2)", "4(x0),"})
    EXPECT_EQ(count({{"SLURM_STEP_TASKS_PER_NODE", text}, {"SLURM_NODEID", "1"}}), 1u) << text;
}

}  // namespace
}  // namespace headrace
