// What a loader takes of memory, part by part, and whether that fits where it runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/machine/local_processes.h"
#include "base/machine/memory_limits.h"
#include "loader/plan/engine_plan.h"
#include "tools/json.h"

namespace headrace {

struct MemoryComponent {
  std::string name;
  std::uint64_t bytes = 0;
  std::string what;           ///< How it comes about: "41 x 19.9 MiB".
  bool inside_budget = true;  ///< False: beside what `memory` bounds.
};
/// Return every part of a plan's peak. A new part of the engine is one line here.
std::vector<MemoryComponent> memory_components(const EnginePlan& plan, std::uint64_t num_chunks);
std::uint64_t sum_bytes(const std::vector<MemoryComponent>& components);
/// Return what a loader takes before anything is kept for later epochs: the total without the cache that fills up.
std::uint64_t first_bytes(const EnginePlan& plan, std::uint64_t total_bytes);
/// Return how far a measured peak may lie from the sum.
std::uint64_t uncertainty_bytes(std::uint64_t total_bytes);
/// Return the chunks of all files, each of which costs an entry of an index.
std::uint64_t count_chunks(const Dataset& dataset);

enum class Fit : std::uint8_t { kFits, kTight, kKilled };
inline constexpr double kTightShare = 0.70, kKilledShare = 0.90;  // of what is really available
Fit judge_fit(std::uint64_t peak_bytes, std::uint64_t available_bytes);
int exit_status_of(Fit fit);
/// Return "fits", "tight", "would be killed".
std::string_view to_string(Fit fit);

/// Return ", which 4 processes of this host divide (LOCAL_WORLD_SIZE)"; empty for one.
std::string shared_text(const LocalProcesses& local);

/// A share of what is available, and what it buys.
struct MemoryPreset {
  std::string name;
  double share = 0;
  std::uint64_t memory_bytes = 0;
  bool possible = false;  ///< There is a plan under this budget.
  std::uint64_t peak_bytes = 0;
  double decodes = 0;     ///< Decodes of a block, an epoch.
  double kept_share = 0;  ///< Share of the decoded data that fits beside the window.
};
/// Return safe, balanced, max: 40, 60, 75 % of what is available.
std::vector<MemoryPreset> memory_presets(const Dataset& dataset, const LoaderOptions& options,
                                         std::uint64_t available_bytes);
/// Return the decoded bytes of all rows.
std::uint64_t decoded_bytes(const Dataset& dataset);
double kept_share(const EnginePlan& plan, std::uint64_t data_bytes);

/// What a torch DataLoader with a cache of decoded chunks in each worker takes for the same work.
struct TorchRecipe {
  std::uint64_t workers = 0, cached_chunks = 10, prefetch = 2;
  std::uint64_t chunk_bytes = 0, batch_bytes = 0;
  [[nodiscard]] std::uint64_t cache_bytes() const { return workers * cached_chunks * chunk_bytes; }
  [[nodiscard]] std::uint64_t shared_memory_bytes() const { return workers * prefetch * batch_bytes; }
  /// Return the interpreters of the workers: 0.2 to 0.5 GB each with torch imported.
  [[nodiscard]] std::uint64_t interpreter_bytes() const { return workers * (std::uint64_t{300} << 20); }
};
TorchRecipe torch_recipe(const EnginePlan& plan, std::uint64_t sample_bytes, std::uint64_t workers);

Json limits_json(const MemoryLimits& limits);
Json components_json(const std::vector<MemoryComponent>& components);
Json presets_json(const std::vector<MemoryPreset>& presets);

}  // namespace headrace
