#include "tools/memory/memory_breakdown.h"

#include <fmt/format.h>
#include <headrace/bytes.h>

#include <algorithm>

#include "base/text/number_text.h"
#include "loader/engine/access.h"
#include "loader/plan/plan_for.h"
#include "loader/plan/window_decodes.h"

namespace headrace {
namespace {

constexpr std::uint64_t kChunkIndexBytes = 24;   // format/hdf5/chunks/chunk_index.h
constexpr std::uint64_t kThreadBytes = 1 << 20;  // stack and the allocator's arena, as far as they are touched
// Libraries, tables, what belongs to no part above: peaks of the memory sweep are 2 to 8 MiB above what was charged.
constexpr std::uint64_t kEngineBytes = 4 << 20;
constexpr std::uint64_t kLeastUncertainty = 32 << 20;

}  // namespace

std::vector<MemoryComponent> memory_components(const EnginePlan& plan, std::uint64_t num_chunks) {
  std::vector<MemoryComponent> parts = {
      {"batches", plan.slots * plan.slot_bytes,
       fmt::format("{} batches of {}: those being filled, and two in your loop", plan.slots,
                   format_bytes(plan.slot_bytes))},
      {"cache", plan.cache_bytes,
       plan.preloads                          ? "all rows, decoded before the first batch"
       : plan.gathers || plan.keeps_all_units ? "all of it: fills up in the first epoch"
       : plan.tier == CacheTier::kSomeBlocks  ? "blocks for later epochs: fills up over some epochs, less if re-encoded"
                                              : "rows kept for later epochs: fills up over some epochs"},
      {"decode scratch", plan.scratch_bytes + plan.keeping_bytes,
       fmt::format("{} thread{}", plan.threads, plural(plan.threads))},
      {"read buffers", plan.read_buffer_bytes, fmt::format("{} thread{}", plan.threads, plural(plan.threads))},
      {"side fields", plan.side_bytes(), "fields whose chunks are longer than the blocks"},
      {"bookkeeping", plan.index_bytes, "lists of the rows that go into each batch"},
      {"chunk indexes", num_chunks * kChunkIndexBytes, fmt::format("{} chunks", num_chunks), false},
      {"engine", kEngineBytes + plan.threads * kThreadBytes, "libraries, thread stacks, allocator", false},
  };
  std::erase_if(parts, [](const MemoryComponent& c) { return c.bytes == 0; });
  return parts;
}

std::uint64_t sum_bytes(const std::vector<MemoryComponent>& components) {
  std::uint64_t sum = 0;
  for (const MemoryComponent& c : components) sum += c.bytes;
  return sum;
}

std::uint64_t first_bytes(const EnginePlan& plan, std::uint64_t total_bytes) {
  return plan.preloads ? total_bytes : total_bytes - std::min(total_bytes, plan.cache_bytes);
}

std::uint64_t uncertainty_bytes(std::uint64_t total_bytes) {
  return std::max(total_bytes / 20, kLeastUncertainty);
}

std::uint64_t count_chunks(const Dataset& dataset) {
  std::uint64_t count = 0;
  for (const Source* const source : source_of(dataset).stored())
    for (const SourceFile& file : source->files)
      for (const auto& array : file.arrays) {
        const ArrayInfo& info = array->info();
        if (info.chunk_shape.empty()) continue;
        std::uint64_t chunks = 1;
        for (std::size_t d = 0; d < info.shape.size(); ++d)
          chunks *= (info.shape[d] + info.chunk_shape[d] - 1) / std::max<std::uint64_t>(info.chunk_shape[d], 1);
        count += std::min(chunks, info.stored_bytes);  // a shape may declare more than was ever written
      }
  return count;
}

std::string shared_text(const LocalProcesses& local) {
  return local.count <= 1 ? ""
                          : fmt::format(", which {} processes of this host divide ({})", local.count, local.reason);
}

Fit judge_fit(std::uint64_t peak_bytes, std::uint64_t available_bytes) {
  const auto peak = static_cast<double>(peak_bytes), available = static_cast<double>(available_bytes);
  return peak > kKilledShare * available ? Fit::kKilled : peak > kTightShare * available ? Fit::kTight : Fit::kFits;
}

int exit_status_of(Fit fit) {
  return fit == Fit::kFits ? 0 : fit == Fit::kTight ? 10 : 11;
}

std::string_view to_string(Fit fit) {
  return fit == Fit::kFits ? "fits" : fit == Fit::kTight ? "tight" : "would be killed";
}

std::uint64_t decoded_bytes(const Dataset& dataset) {
  return dataset.size() * dataset.sample_bytes();
}

double kept_share(const EnginePlan& plan, std::uint64_t data_bytes) {
  if (data_bytes == 0) return 1;
  if (plan.keeps_all()) return 1;
  return std::min(1.0, static_cast<double>(plan.cache_bytes) / static_cast<double>(data_bytes));
}

std::vector<MemoryPreset> memory_presets(const Dataset& dataset, const LoaderOptions& options,
                                         std::uint64_t available_bytes) {
  std::vector<MemoryPreset> presets = {{"safe", 0.40}, {"balanced", 0.60}, {"max", 0.75}};
  const std::uint64_t chunks = count_chunks(dataset);
  for (MemoryPreset& p : presets) {
    p.memory_bytes = static_cast<std::uint64_t>(p.share * static_cast<double>(available_bytes)) >> 20 << 20;
    const Result<EnginePlan> plan = plan_for(dataset, options, p.memory_bytes);
    p.possible = plan.ok();
    if (!plan.ok()) continue;
    p.peak_bytes = sum_bytes(memory_components(*plan, chunks));
    p.decodes = window_decodes(*plan);
    p.kept_share = kept_share(*plan, decoded_bytes(dataset));
  }
  return presets;
}

TorchRecipe torch_recipe(const EnginePlan& plan, std::uint64_t sample_bytes, std::uint64_t workers) {
  TorchRecipe recipe;
  recipe.workers = workers;
  recipe.chunk_bytes = plan.blocks->max_block_rows() * sample_bytes;
  recipe.batch_bytes = plan.batch_rows * sample_bytes;
  return recipe;
}

Json limits_json(const MemoryLimits& limits) {
  static constexpr const char* kPast[] = {"killed", "throttled", "refused"};
  Json json = Json::array();
  for (std::size_t i = 0; i < limits.all.size(); ++i) {
    const MemoryLimit& l = limits.all[i];
    json.push_back({{"where", l.where},
                    {"rule", l.rule},
                    {"past_it", kPast[static_cast<std::size_t>(l.past)]},
                    {"limit_bytes", l.limit_bytes},
                    {"used_bytes", l.used_bytes},
                    {"reclaimable_bytes", l.reclaimable_bytes},
                    {"free_bytes", l.free_bytes},
                    {"rules", i == limits.ruling}});
  }
  return json;
}

Json components_json(const std::vector<MemoryComponent>& components) {
  Json json = Json::array();
  for (const MemoryComponent& c : components)
    json.push_back({{"name", c.name}, {"bytes", c.bytes}, {"what", c.what}, {"inside_budget", c.inside_budget}});
  return json;
}

Json presets_json(const std::vector<MemoryPreset>& presets) {
  Json json = Json::array();
  for (const MemoryPreset& p : presets)
    json.push_back({{"name", p.name},
                    {"share", p.share},
                    {"memory_bytes", p.memory_bytes},
                    {"possible", p.possible},
                    {"peak_bytes", p.peak_bytes},
                    {"decodes_a_block", p.decodes},
                    {"kept_share", p.kept_share}});
  return json;
}

}  // namespace headrace
