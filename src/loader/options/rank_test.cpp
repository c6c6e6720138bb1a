#include "loader/options/rank.h"

#include <gtest/gtest.h>

#include <map>

namespace headrace {
namespace {

Result<RankChoice> choose(const std::map<std::string, std::string>& environment, std::optional<std::uint32_t> rank = {},
                          std::optional<std::uint32_t> world_size = {}) {
  return choose_rank(rank, world_size, [&](const char* name) -> const char* {
    const auto it = environment.find(name);
    return it == environment.end() ? nullptr : it->second.c_str();
  });
}

TEST(Rank, ArgumentsGoBeforeTheEnvironment) {
  EXPECT_EQ(choose({{"RANK", "3"}, {"WORLD_SIZE", "4"}}, 1, 2)->share, (RankShare{1, 2}));
  EXPECT_EQ(choose({{"RANK", "3"}, {"WORLD_SIZE", "4"}})->share, (RankShare{3, 4}));
  EXPECT_EQ(choose({})->share, RankShare());
}

TEST(Rank, LaunchersAreKnown) {
  EXPECT_EQ(choose({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}})->share, (RankShare{1, 2}));
  EXPECT_EQ(choose({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}})->share, (RankShare{0, 2}));
  EXPECT_EQ(choose({{"SLURM_PROCID", "5"}, {"SLURM_STEP_NUM_TASKS", "8"}})->share, (RankShare{5, 8}));
  // A batch script of a job with many tasks is one process.
  EXPECT_EQ(choose({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}})->share, RankShare());
}

TEST(Rank, NonsenseIsRefused) {
  for (const auto& bad : {choose({}, 0, 0), choose({}, 2, 2), choose({{"RANK", "x"}, {"WORLD_SIZE", "2"}}),
                          choose({{"RANK", "2"}, {"WORLD_SIZE", "2"}})}) {
    ASSERT_FALSE(bad.ok());
    EXPECT_EQ(bad.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_FALSE(bad.error().hint().empty());
  }
}

}  // namespace
}  // namespace headrace
