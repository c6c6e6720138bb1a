#include "loader/options/rank.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstring>
#include <utility>

#include "dataset/recipe/refuse.h"

namespace headrace {
namespace {

struct Launcher {
  const char* rank;
  const char* world_size;
  const char* name;
};
constexpr std::array<Launcher, 4> kLaunchers = {{{"RANK", "WORLD_SIZE", "torchrun"},
                                                 {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "Open MPI"},
                                                 {"PMI_RANK", "PMI_SIZE", "MPI"},
                                                 {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "srun"}}};

Result<std::uint32_t> launched_number(const char* name, const char* text) {
  std::uint32_t value = 0;
  const char* const end = text + std::strlen(text);
  const auto [at, error] = std::from_chars(text, end, value);
  if (error != std::errc() || at != end)
    return refuse(fmt::format("the environment's {}={} is not a number", name, text),
                  "Unset it, or give rank and world_size.");
  return value;
}

/// What the first launcher that left its variables says; none without one.
Result<std::optional<RankChoice>> launched(const std::function<const char*(const char*)>& variable) {
  for (const Launcher& launcher : kLaunchers) {
    const char* const r = variable(launcher.rank);
    const char* const w = variable(launcher.world_size);
    if (!r || !w) continue;
    HEADRACE_ASSIGN(const std::uint32_t rank_number, launched_number(launcher.rank, r));
    HEADRACE_ASSIGN(const std::uint32_t world_number, launched_number(launcher.world_size, w));
    HEADRACE_TRY(check_rank(rank_number, world_number));
    return std::optional(RankChoice{{rank_number, world_number},
                                    fmt::format("{} and {} ({})", launcher.rank, launcher.world_size, launcher.name)});
  }
  return std::optional<RankChoice>();
}

}  // namespace

Status check_rank(std::uint32_t rank, std::uint32_t world_size) {
  if (world_size == 0)
    return refuse("world_size must be at least 1, not 0",
                  "Give the number of processes, or leave rank= and world_size= out: then the launcher is asked.");
  if (rank >= world_size)
    return refuse(fmt::format("rank {} is out of range: there are {} ranks", rank, world_size),
                  fmt::format("Ranks count from 0: give a number from 0 to {}.", world_size - 1));
  return {};
}

Result<RankChoice> choose_rank(std::optional<std::uint32_t> rank, std::optional<std::uint32_t> world_size,
                               const std::function<const char*(const char*)>& variable) {
  if (rank && world_size) {
    HEADRACE_TRY(check_rank(*rank, *world_size));
    return RankChoice{{*rank, *world_size}, "rank= and world_size="};
  }
  HEADRACE_ASSIGN(std::optional<RankChoice> choice, launched(variable));
  return choice ? std::move(*choice) : RankChoice{{}, "one process"};
}

std::optional<std::uint32_t> launcher_rank() {
  const auto choice = launched(launcher_variable);
  if (!choice.ok() || !*choice) return {};
  return (*choice)->share.rank;
}

}  // namespace headrace
