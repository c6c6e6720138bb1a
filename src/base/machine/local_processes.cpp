#include "base/machine/local_processes.h"

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace headrace {
namespace {

/// A number from 1 at the start of `text`, which loses it.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number == 0) return {};
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// Return the tasks of node `node` in "4(x2),3".
std::optional<std::uint32_t> tasks_of_node(std::string_view text, std::uint32_t node) {
  for (std::uint32_t first = 0; !text.empty();) {
    const auto tasks = take_number(text);
    std::optional<std::uint32_t> nodes = 1;
    if (text.starts_with("(x")) {
      text.remove_prefix(2);
      nodes = take_number(text);
      if (!nodes || !text.starts_with(')')) return {};
      text.remove_prefix(1);
    }
    if (!tasks) return {};
    if (node - first < *nodes) return tasks;
    first += *nodes;
    if (!text.starts_with(',')) return {};
    text.remove_prefix(1);
  }
  return {};
}

}  // namespace

const char* launcher_variable(const char* name) {
  return std::getenv(name);  // NOLINT(concurrency-mt-unsafe): as every launcher's contract has it
}

LocalProcesses count_local_processes(const std::function<const char*(const char*)>& variable) {
  for (const char* const name : {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
    const char* const value = variable(name);
    std::string_view text = value ? value : "";
    if (const auto count = take_number(text); count && text.empty()) return {*count, name};
  }
  constexpr const char* kSlurm = "SLURM_STEP_TASKS_PER_NODE";
  const char* const tasks = variable(kSlurm);
  const char* const node = variable("SLURM_NODEID");
  if (!tasks) return {};
  std::uint32_t number = 0;
  if (node) number = static_cast<std::uint32_t>(std::strtoul(node, nullptr, 10));
  if (const auto count = tasks_of_node(tasks, number)) return {*count, kSlurm};
  return {};
}

LocalProcesses count_local_processes() {
  return count_local_processes(launcher_variable);
}

}  // namespace headrace
